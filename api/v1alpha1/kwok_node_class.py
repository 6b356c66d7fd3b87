"""KwokNodeClass: machines without kubelets, priced and limited as the file says, for tests and plans."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from api.conditions import Condition
from api.duration import Duration
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model
from api.money import Price
from api.quantity import Quantity
from api.timestamp import Timestamp

Resources = Annotated[dict[str, Quantity], Field(max_length=32)]


class KwokLocation(Model):
    """A place where a server type can be had."""

    name: str = Field(min_length=1, max_length=63)
    """Name of the location; becomes topology.kubernetes.io/region."""
    zone: str | None = Field(default=None, max_length=63)
    """Value of topology.kubernetes.io/zone; without it, the name of the location."""
    available: bool = True
    """False: sold out. The provider refuses with a capacity error and plans leave it out."""
    stock: Annotated[int, Field(ge=0)] | None = None
    """Servers that exist at most; the next create is a capacity error the plan did not foresee."""
    boot_time: Duration = timedelta(seconds=1)
    """From the create call until the server runs and its Node appears."""


class KwokServerType(Model):
    """A kind of machine."""

    name: str = Field(min_length=1, max_length=63)
    """Name of the type, in lower case as pools match it."""
    capacity: Resources
    """Capacity of the Node: cpu and memory at least; pods is 110 if not given."""
    overhead: Resources = Field(default_factory=dict)
    """What the machine keeps for itself: allocatable is capacity less this."""
    architecture: Literal["amd64", "arm64"] = "amd64"
    """Value of kubernetes.io/arch."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Further labels of the Node."""
    price_per_hour: Price
    """Price as decimal text, such as "0.0106"."""
    locations: tuple[KwokLocation, ...] = Field(min_length=1, max_length=50)
    """Where it can be had."""

    @field_validator("name")
    @classmethod
    def _lower(cls, name: str) -> str:
        return name.lower()

    @model_validator(mode="after")
    def _complete(self) -> "KwokServerType":
        missing = [r for r in ("cpu", "memory") if r not in self.capacity]
        if missing:
            msg = f"server type {self.name}: capacity lacks {' and '.join(missing)}"
            raise ValueError(msg)
        return self


class KwokFault(Model):
    """A scripted failure."""

    server_type: str | None = None
    """Only for this server type; without it, for all."""
    location: str | None = None
    """Only in this location; without it, in all."""
    call: Literal["create", "delete", "boot", "join"]
    """What fails: the create or delete call, the boot (never runs), or the join (runs, no Node)."""
    error: Literal["capacity", "quota", "transient", "configuration", "authentication"] = "transient"
    """Class of error that a failing call answers with."""
    lost_reply: bool = False
    """The call takes effect and then answers with the error."""
    times: Annotated[int, Field(ge=1)] | None = None
    """How often per server (create, by request name) it fails; without it, always."""


class KwokNodeClassSpec(Model):
    """The machines that can be had."""

    currency: str = Field(default="EUR", pattern=r"^[A-Z]{3}$")
    """Currency of all prices, three capital letters."""
    server_types: tuple[KwokServerType, ...] = Field(min_length=1, max_length=200)
    """Kinds of machine."""
    faults: tuple[KwokFault, ...] = Field(default=(), max_length=50)
    """Scripted failures."""

    @model_validator(mode="after")
    def _distinct(self) -> "KwokNodeClassSpec":
        names = [t.name for t in self.server_types]
        if len(set(names)) != len(names):
            msg = "serverTypes: each name may stand only once"
            raise ValueError(msg)
        return self


class UnavailableOffering(Model):
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


class NodeClassStatus(Model):
    """What is known of the class beyond its spec."""

    unavailable: tuple[UnavailableOffering, ...] = ()
    """Offerings without capacity; entries stay while their failures are remembered."""
    conditions: tuple[Condition, ...] = ()
    """Ready, with its reason."""


class KwokNodeClass(Model):
    """A catalogue of simulated machines with prices, stock, boot times and scripted failures."""

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["KwokNodeClass"] = "KwokNodeClass"
    metadata: ObjectMeta
    spec: KwokNodeClassSpec
    status: NodeClassStatus = NodeClassStatus()
