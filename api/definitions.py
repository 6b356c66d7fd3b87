"""The kinds as Kubernetes offers them: names, printer columns, and the model of each.

Columns: at most six without `-o wide`, the last ones Ready or Phase, where there is one, and Age.
Source: Kubernetes "Custom resources: additional printer columns"; Karpenter's practice.
"""

from dataclasses import dataclass
from typing import Final, Literal

from api.model import Model
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One column of `kubectl get`."""

    name: str
    path: str
    """JSONPath in the object."""
    type: Literal["string", "integer", "date"] = "string"
    """A date is shown as its age, so a time to come must be a string."""
    wide: bool = False
    """Shown with `-o wide` only."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One kind."""

    model: type[Model]
    columns: tuple[PrinterColumn, ...]
    short_name: str | None = None

    @property
    def kind(self) -> str:
        """Name of the kind, such as NodePool."""
        return self.model.__name__

    @property
    def singular(self) -> str:
        """Name in lower case."""
        return self.kind.lower()

    @property
    def plural(self) -> str:
        """Name in the API server's paths."""
        return f"{self.singular}es" if self.singular.endswith("s") else f"{self.singular}s"


READY: Final = PrinterColumn("Ready", '.status.conditions[?(@.type=="Ready")].status')
READY_REASON: Final = PrinterColumn("Reason", '.status.conditions[?(@.type=="Ready")].reason', wide=True)
AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", "date")

KWOK_NODE_CLASS: Final = Definition(
    KwokNodeClass,
    # Of a list the API server shows the first entry alone, so types and what is sold out are no columns.
    (PrinterColumn("Currency", ".spec.currency"), AGE),
)
HETZNER_NODE_CLASS: Final = Definition(
    HetznerNodeClass,
    (
        PrinterColumn("Prices Read", ".status.readAt", "date"),
        PrinterColumn("Paused Until", ".status.pause.until"),
        READY,
        AGE,
        READY_REASON,
        PrinterColumn("Message", '.status.conditions[?(@.type=="Ready")].message', wide=True),
        PrinterColumn("User Data", '.status.conditions[?(@.type=="UserDataComplete")].reason', wide=True),
    ),
)

DEFINITIONS: Final = (
    Definition(
        NodePool,
        (
            PrinterColumn("Nodes", ".status.nodes.ready", "integer"),
            PrinterColumn("Coming", ".status.nodes.inFlight", "integer"),
            PrinterColumn("Going", ".status.nodes.removing", "integer"),
            PrinterColumn("Price/h", ".status.pricePerHour"),
            READY,
            AGE,
            PrinterColumn("Currency", ".status.currency", wide=True),
            PrinterColumn("Min", ".spec.limits.min", "integer", wide=True),
            PrinterColumn("Max", ".spec.limits.max", "integer", wide=True),
            PrinterColumn("Class", ".spec.template.classRef.name", wide=True),
            READY_REASON,
        ),
        "gnp",
    ),
    KWOK_NODE_CLASS,
    HETZNER_NODE_CLASS,
    Definition(
        NodeRequest,
        (
            PrinterColumn("Pool", ".spec.pool"),
            PrinterColumn("Type", ".spec.serverType"),
            PrinterColumn("Location", ".spec.location"),
            PrinterColumn("Reason", ".status.reason"),
            PrinterColumn("Phase", ".status.phase"),
            AGE,
            PrinterColumn("Node", ".status.nodeName", wide=True),
            PrinterColumn("Provider ID", ".status.providerID", wide=True),
            PrinterColumn("Attempts", ".status.attempts", "integer", wide=True),
            PrinterColumn("Message", ".status.message", wide=True),
        ),
        "nr",
    ),
    Definition(
        NodeRemovalRequest,
        (
            PrinterColumn("Pool", ".spec.pool"),
            PrinterColumn("Type", ".spec.serverType"),
            PrinterColumn("Why", ".spec.reason"),
            PrinterColumn("Removal At", ".status.scaleDownAt"),
            PrinterColumn("Phase", ".status.phase"),
            AGE,
            PrinterColumn("Reason", ".status.reason", wide=True),
            PrinterColumn("Node", ".spec.nodeName", wide=True),
            PrinterColumn("Provider ID", ".spec.providerID", wide=True),
            PrinterColumn("Attempts", ".status.removalAttempts", "integer", wide=True),
            PrinterColumn("Message", ".status.message", wide=True),
        ),
        "nrr",
    ),
)
"""All kinds that Growth itself has, in the order in which people meet them."""
