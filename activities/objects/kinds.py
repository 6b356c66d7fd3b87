"""The kinds of objects with a lifecycle as the API server has them, a row beside each of `planner.lifecycle.kinds`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, Self, TypeVar, cast

from activities.objects.start_notes import Prices, note_on_removal, note_on_request
from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, Object, Resource
from activities.ports.errors import Unreadable
from api.meta import Condition, ObjectMeta
from api.model import UnreadableError, read
from api.v1alpha1.lifecycle import LifecycleEvent
from api.v1alpha1.node_removal_request import NodeRemovalRequest
from api.v1alpha1.node_request import NodeRequest
from planner.lifecycle.kinds import REMOVAL, REQUEST, LifecycleKind
from planner.model.round import StartNote


class Status(Protocol):
    """The fields that the status of every such kind has."""

    @property
    def phase(self) -> str:
        """Where the object stands."""
        ...

    @property
    def reason(self) -> str:
        """Why it stands there, one CamelCase word."""
        ...

    @property
    def message(self) -> str:
        """The same as a sentence."""
        ...

    @property
    def workflow_id(self) -> str | None:
        """The id of the workflow that drives the object."""
        ...

    @property
    def conditions(self) -> Sequence[Condition]:
        """Its conditions."""
        ...

    @property
    def events(self) -> Sequence[LifecycleEvent]:
        """What happened last."""
        ...

    def model_copy(self, *, update: dict[str, Any]) -> Self:
        """Return the status with other values in some fields."""
        ...

    def to_json(self) -> dict[str, object]:
        """Return it as the API server stores it."""
        ...


class LifecycleObject(Protocol):
    """The model of every such kind."""

    @property
    def metadata(self) -> ObjectMeta:
        """Name, uid and the rest."""
        ...

    @property
    def status(self) -> Any:
        """A `Status`, of the kind's own type."""
        ...


Stored = TypeVar("Stored", bound=LifecycleObject)


@dataclass(frozen=True, slots=True, eq=False)
class StoredKind(Generic[Stored]):
    """A kind of object with a lifecycle, as it is stored."""

    lifecycle: LifecycleKind[Any]
    resource: Resource
    model: type[Stored]
    start_note: Callable[[Object, Prices], StartNote]
    """The note with which the workflow of an object starts."""
    action: str = "Plan"
    """The action of the Kubernetes Events of such an object."""

    def read(self, item: Object) -> Stored:
        """Return the object as its model.

        Raises:
            Unreadable: names the field.
        """
        try:
            return read(cast("type[Any]", self.model), item)
        except UnreadableError as error:
            raise Unreadable(str(error)) from error


REQUESTS: Final = StoredKind(
    lifecycle=REQUEST,
    resource=NODE_REQUESTS,
    model=NodeRequest,
    start_note=note_on_request,
    action="Provision",
)
REMOVALS: Final = StoredKind(
    lifecycle=REMOVAL,
    resource=NODE_REMOVAL_REQUESTS,
    model=NodeRemovalRequest,
    start_note=note_on_removal,
    action="Remove",
)
STORED_KINDS: Final[tuple[StoredKind[Any], ...]] = (REQUESTS, REMOVALS)
"""Every kind, in the order of `planner.lifecycle.kinds.KINDS`."""
