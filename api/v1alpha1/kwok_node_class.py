"""KwokNodeClass: machines without kubelets, priced and limited as the file says, for tests and plans."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from api.duration import Duration
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model
from api.names import Labels, LabelValue, OptionalLabelValue, TaintKey
from api.quantity import Price, Quantity, parse_quantity
from api.rules import Check, Text, distinct, rule, rules
from api.v1alpha1.class_parts.attach_limits import AttachLimits
from api.v1alpha1.class_parts.billing import Billing
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import CLASS_NAME

Resources = Annotated[dict[str, Quantity], Field(max_length=32)]
_COMPLETE: Final = Check(
    lambda capacity: "cpu" in capacity and "memory" in capacity,
    "'cpu' in self && 'memory' in self",
    "cpu and memory are needed",
)


class KwokLocation(Model):
    """A location where a server type can be had."""

    name: LabelValue
    """Name of the location, and the Node label topology.kubernetes.io/region."""
    zone: LabelValue | None = None
    """The Node label topology.kubernetes.io/zone. Without it, the name of the location."""
    available: StrictBool = True
    """Whether it can be had here. If not, creates end in a capacity error, and plans leave it out."""
    stock: Annotated[int, Field(strict=True, ge=0, le=100_000)] | None = None
    """Most servers of the type here; one more is a capacity error that no plan foresees. Without it, any number."""
    boot_time: Duration = timedelta(seconds=1)
    """How long from the create call until the server runs and its Node appears."""


class KwokStartupTaint(Model):
    """A taint that the Node of a machine has at first."""

    key: TaintKey
    """Key of the taint."""
    value: OptionalLabelValue = ""
    """Value of the taint. Without it, the value is empty."""
    effect: Literal["NoSchedule", "NoExecute"] = "NoSchedule"
    """What happens to pods that do not tolerate it."""


class KwokStartup(Model):
    """How slowly the Node of a machine starts, each time from its joining on."""

    ready_after: Duration = timedelta()
    """How long it is not Ready. KWOK's stage must read it: docs/concepts.md."""
    taints: Annotated[tuple[KwokStartupTaint, ...], Field(max_length=8), distinct("key", "effect")] = ()
    """Taints that it has at first. Without it, none."""
    taints_for: Duration = timedelta()
    """How long it has them."""
    devices_after: Duration = timedelta()
    """How long it does not state what device plug-ins report: resources with a slash in their name."""


_ABOVE_CAPACITY: Final = rule(
    "!has(self.overhead) || self.overhead.all(r, r in self.capacity"
    # What is no quantity is told of by the rule of quantities.
    " && (!isQuantity(string(self.overhead[r])) || !isQuantity(string(self.capacity[r]))"
    " || !quantity(string(self.overhead[r])).isGreaterThan(quantity(string(self.capacity[r])))))",
    "overhead may name only resources of capacity, and not more of them",
)


class KwokServerType(Model):
    """A server type, with its price and the locations where it can be had."""

    model_config = rules(_ABOVE_CAPACITY)

    name: LabelValue
    """Name of the type; matched in lower case, so CX22 and cx22 are the same."""
    capacity: Annotated[Resources, _COMPLETE]
    """Capacity of the Node as quantities, cpu (such as 2) and memory (4Gi) at least; pods is 110 if not given."""
    overhead: Resources = Field(default_factory=dict)
    """What the machine keeps for itself, as quantities; the rest is allocatable. Without it, nothing."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    """Architecture of the machine, the Node label kubernetes.io/arch."""
    labels: Labels = Field(default_factory=dict)
    """Further labels of the Node. Without it, none."""
    price_per_hour: Price
    """Price of a machine per hour, in the currency of the class."""
    locations: Annotated[tuple[KwokLocation, ...], Field(min_length=1, max_length=32), distinct("name")]
    """The locations where it can be had, at least one."""
    startup: KwokStartup | None = None
    """How slowly its Node starts. Without it, at once."""

    @field_validator("name")
    @classmethod
    def _lower(cls, name: str) -> str:
        return name.lower()

    @model_validator(mode="after")
    def _overhead_fits(self) -> "KwokServerType":
        for resource, overhead in self.overhead.items():
            if resource not in self.capacity or parse_quantity(overhead) > parse_quantity(self.capacity[resource]):
                raise ValueError(_ABOVE_CAPACITY["message"])
        return self


class KwokFault(Model):
    """A scripted failure."""

    server_type: LabelValue | None = None
    """The server type that fails. Without it, every one."""
    location: LabelValue | None = None
    """The location where it fails. Without it, every one."""
    call: Literal["create", "delete", "boot", "join", "ready"]
    """What fails: create, delete (the call), boot (never runs), join (no Node) or ready (its Node is never Ready)."""
    error: Literal["capacity", "quota", "transient", "configuration", "authentication"] = "transient"
    """The error that a failing call answers with; after transient, it is unknown whether the call took effect."""
    lost_reply: StrictBool = False
    """Whether the call takes effect before it answers with the error, as when its reply is lost."""
    times: Annotated[int, Field(strict=True, ge=1)] | None = None
    """How often it fails for each server, known by its name. Without it, always."""


_CURRENCY: Final = Text(pattern="^[A-Z]{3}$", longest=3, form='three capital letters, such as "EUR"')


class KwokNodeClassSpec(Model):
    """The machines that can be had, and their prices."""

    currency: Annotated[str, _CURRENCY] = "EUR"
    """Currency of all prices of the class, three capital letters."""
    server_types: Annotated[
        tuple[KwokServerType, ...], Field(min_length=1, max_length=200), distinct("name", ignore_case=True)
    ]
    """The server types that can be had, at least one."""
    attach_limits: AttachLimits = Field(default_factory=dict)
    """Most volumes of a machine by CSI driver; CSINodes of its type go before. Without it, what other Nodes say."""
    faults: tuple[KwokFault, ...] = Field(default=(), max_length=50)
    """Scripted failures, to try out what Growth does about them. Without it, nothing fails."""
    billing: Billing | None = None
    """How machines are billed: an empty one stays until the period ends that has begun. Without it, not known."""


class KwokNodeClass(Model):
    """A catalogue of machines without kubelets, with prices, stock, boot times and scripted failures."""

    model_config = rules(CLASS_NAME.rule("self.metadata.name", field=".metadata.name"))

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["KwokNodeClass"] = "KwokNodeClass"
    metadata: ObjectMeta
    spec: KwokNodeClassSpec
    status: NodeClassStatus = NodeClassStatus()

    @model_validator(mode="after")
    def _named(self) -> "KwokNodeClass":
        self.metadata.check_name(CLASS_NAME)
        return self
