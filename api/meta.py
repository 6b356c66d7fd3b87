"""The parts of Kubernetes metadata that Growth reads and writes."""

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from api.model import Model
from api.rules import Text
from api.timestamp import Timestamp


class OwnerReference(Model):
    """A reference to the object whose deletion takes this one along."""

    model_config = ConfigDict(extra="ignore")

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """Metadata of an object; parts that Growth has no use for are passed over."""

    model_config = ConfigDict(extra="ignore")

    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    finalizers: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()

    def check_name(self, form: Text) -> None:
        """Refuse a name of another form.

        Raises:
            ValueError: the object has no name, or one that the API server would refuse.
        """
        if not self.name:
            raise ValueError("metadata.name is missing")
        try:
            form.check(self.name)
        except ValueError as error:
            msg = f"metadata.name: {error}"
            raise ValueError(msg) from None

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        # An empty uid or label map in a create call reads as a wish; the API server expects absence.
        return {key: value for key, value in serialize(self).items() if value not in ("", None, {}, [], ())}
