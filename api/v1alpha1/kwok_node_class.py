"""KwokNodeClass: machines without kubelets, priced and limited as the file says, for tests and plans."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, field_validator, model_validator

from api.conditions import Conditions
from api.duration import Duration
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model, Payload
from api.money import Price
from api.names import Labels, LabelValue
from api.quantity import Quantity, parse_quantity
from api.rules import Check, Text, distinct, rule, rules
from api.timestamp import Timestamp
from api.v1alpha1.node_pool import CLASS_NAME

Resources = Annotated[dict[str, Quantity], Field(max_length=32)]
_COMPLETE: Final = Check(
    lambda capacity: "cpu" in capacity and "memory" in capacity,
    "'cpu' in self && 'memory' in self",
    "cpu and memory are needed",
)


class KwokLocation(Model):
    """A place where a server type can be had."""

    name: LabelValue
    """Name of the location; becomes topology.kubernetes.io/region."""
    zone: LabelValue | None = None
    """Value of topology.kubernetes.io/zone; without it, the name of the location."""
    available: StrictBool = True
    """False: sold out. The provider refuses with a capacity error and plans leave it out."""
    stock: Annotated[int, Field(strict=True, ge=0, le=100_000)] | None = None
    """Servers that exist at most; the next create is a capacity error the plan did not foresee."""
    boot_time: Duration = timedelta(seconds=1)
    """From the create call until the server runs and its Node appears."""


_ABOVE_CAPACITY: Final = rule(
    "!has(self.overhead) || self.overhead.all(r, r in self.capacity"
    # What is no quantity is told of by the rule of quantities.
    " && (!isQuantity(string(self.overhead[r])) || !isQuantity(string(self.capacity[r]))"
    " || !quantity(string(self.overhead[r])).isGreaterThan(quantity(string(self.capacity[r])))))",
    "overhead may name only resources of capacity, and not more of them",
)


class KwokServerType(Model):
    """A kind of machine."""

    model_config = rules(_ABOVE_CAPACITY)

    name: LabelValue
    """Name of the type, in lower case as pools match it."""
    capacity: Annotated[Resources, _COMPLETE]
    """Capacity of the Node: cpu and memory at least; pods is 110 if not given."""
    overhead: Resources = Field(default_factory=dict)
    """What the machine keeps for itself: allocatable is capacity less this."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    """Value of kubernetes.io/arch."""
    labels: Labels = Field(default_factory=dict)
    """Further labels of the Node."""
    price_per_hour: Price
    """Price as decimal text, such as "0.0106"."""
    locations: Annotated[tuple[KwokLocation, ...], Field(min_length=1, max_length=32), distinct("name")]
    """Where it can be had."""

    @field_validator("name")
    @classmethod
    def _lower(cls, name: str) -> str:
        return name.lower()

    @model_validator(mode="after")
    def _overhead_fits(self) -> "KwokServerType":
        for resource, kept in self.overhead.items():
            if resource not in self.capacity or parse_quantity(kept) > parse_quantity(self.capacity[resource]):
                raise ValueError(_ABOVE_CAPACITY["message"])
        return self


class KwokFault(Model):
    """A scripted failure."""

    server_type: LabelValue | None = None
    """Only for this server type; without it, for all."""
    location: LabelValue | None = None
    """Only in this location; without it, in all."""
    call: Literal["create", "delete", "boot", "join"]
    """What fails: the create or delete call, the boot (never runs), or the join (runs, no Node)."""
    error: Literal["capacity", "quota", "transient", "configuration", "authentication"] = "transient"
    """Class of error that a failing call answers with."""
    lost_reply: StrictBool = False
    """The call takes effect and then answers with the error."""
    times: Annotated[int, Field(strict=True, ge=1)] | None = None
    """How often per server (create, by request name) it fails; without it, always."""


_CURRENCY: Final = Text(pattern="^[A-Z]{3}$", longest=3, form='three capital letters, such as "EUR"')


class KwokNodeClassSpec(Model):
    """The machines that can be had."""

    currency: Annotated[str, _CURRENCY] = "EUR"
    """Currency of all prices, three capital letters."""
    server_types: Annotated[
        tuple[KwokServerType, ...], Field(min_length=1, max_length=200), distinct("name", ignore_case=True)
    ]
    """Kinds of machine."""
    faults: tuple[KwokFault, ...] = Field(default=(), max_length=50)
    """Scripted failures."""


class UnavailableOffering(Payload):
    """An offering that had no capacity and is left out for a while."""

    server_type: str
    """The server type."""
    location: str
    """The location."""
    failures: int
    """Misses in a row; the wait doubles with each."""
    last_failure_at: Timestamp
    """The latest miss; further ones in the same wait are not counted."""
    until: Timestamp
    """Left out until then."""


class NodeClassStatus(Payload):
    """What is known of the class beyond its spec."""

    unavailable: tuple[UnavailableOffering, ...] = ()
    """Offerings without capacity; entries stay while their failures are remembered."""
    conditions: Conditions = ()
    """Ready, with its reason."""


class KwokNodeClass(Model):
    """A catalogue of simulated machines with prices, stock, boot times and scripted failures."""

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
