"""OvercastNodeClass: machines of a cloud that is in this process only."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from api.definitions import AGE, READY, Definition, PrinterColumn
from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model
from api.names import LabelValue
from api.quantity import Price
from api.rules import distinct, rules
from api.v1alpha1.node_class_status import NodeClassStatus
from api.v1alpha1.node_pool import CLASS_NAME


class OvercastServerType(Model):
    """A server type that Overcast sells in all its locations."""

    name: LabelValue
    """Name of the type."""
    cores: Annotated[int, Field(strict=True, ge=1, le=1000)]
    """Cores of a machine; it has four times as many GiB of memory."""
    price_per_hour: Price
    """What a machine costs in EUR."""


class OvercastNodeClassSpec(Model):
    """What of Overcast is bought."""

    server_types: Annotated[
        tuple[OvercastServerType, ...], Field(min_length=1, max_length=50), distinct("name", ignore_case=True)
    ]
    """The server types that can be had, at least one."""


class OvercastNodeClass(Model):
    """Machines of Overcast."""

    model_config = rules(CLASS_NAME.rule("self.metadata.name", field=".metadata.name"))

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["OvercastNodeClass"] = "OvercastNodeClass"
    metadata: ObjectMeta
    spec: OvercastNodeClassSpec
    status: NodeClassStatus = NodeClassStatus()

    @model_validator(mode="after")
    def _named(self) -> "OvercastNodeClass":
        self.metadata.check_name(CLASS_NAME)
        return self


DEFINITION = Definition(OvercastNodeClass, (READY, AGE, PrinterColumn("First", ".spec.serverTypes[0].name", wide=True)))
