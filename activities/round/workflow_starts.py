"""Objects without a workflow: each is handed out for a start at once, and not again while that start is under way."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from activities.objects.kinds import StoredKind
from activities.objects.start_notes import Prices
from activities.ports.cluster import Object
from planner.lifecycle.kinds import REMOVAL, REQUEST, ObjectId
from planner.model.round import STARTS_PER_ROUND, StartNote

_START_TAKES: Final = timedelta(seconds=5)
"""A started workflow has written its id by then. In memory only: after a restart all are handed out at once."""

ObjectsByKind = Mapping[StoredKind[Any], Sequence[Object]]
"""Objects with a lifecycle, by kind."""


class WorkflowStarts:
    """Chooses what a round asks the planner workflow to start.

    Args:
        now: the time, UTC.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._handed: dict[str, datetime] = {}

    def choose(self, objects: ObjectsByKind) -> tuple[dict[str, tuple[ObjectId, ...]], bool]:
        """Return the objects to start, at most `STARTS_PER_ROUND` together, by kind, and whether some were left over.

        Those that were never handed out come first, so that one whose start keeps failing does not
        stop the others.
        """
        now = self._now()
        waiting = [
            item
            for stored, items in objects.items()
            for item in items
            if stored.lifecycle.needs_workflow(item) and not item.get("status", {}).get("workflowId")
        ]
        self._handed = {uid: at for item in waiting if (at := self._handed.get(uid := _uid(item))) is not None}
        due = [item for item in waiting if not self._is_under_way(_uid(item), now)]
        due.sort(key=lambda item: self._handed.get(_uid(item), datetime.min.replace(tzinfo=now.tzinfo)))
        chosen = {_uid(item) for item in due[:STARTS_PER_ROUND]}
        self._handed.update(dict.fromkeys(chosen, now))
        starts = {
            stored.lifecycle.name: tuple(_id(item) for item in items if _uid(item) in chosen)
            for stored, items in objects.items()
        }
        return starts, len(due) > STARTS_PER_ROUND

    def _is_under_way(self, uid: str, now: datetime) -> bool:
        at = self._handed.get(uid)
        return at is not None and now - at < _START_TAKES


def _uid(item: Object) -> str:
    return str(item["metadata"]["uid"])


def _id(item: Object) -> ObjectId:
    return ObjectId(name=item["metadata"]["name"], uid=_uid(item))


def started_fields(starts: Mapping[str, tuple[ObjectId, ...]]) -> dict[str, Any]:
    """Return the fields of a `RoundResult` that name the objects to start, by kind."""
    others = {kind: ids for kind, ids in starts.items() if kind not in (REQUEST.name, REMOVAL.name) and ids}
    return {"requests": starts[REQUEST.name], "removals": starts[REMOVAL.name], "others": others}


def notes_on_started(
    objects: ObjectsByKind, starts: Mapping[str, Sequence[ObjectId]], known: Prices
) -> dict[str, StartNote]:
    """Return the start note of each object whose workflow is started, by uid."""
    uids = {subject.uid for ids in starts.values() for subject in ids}
    return {
        uid: stored.start_note(item, known)
        for stored, items in objects.items()
        for item in items
        if (uid := item["metadata"]["uid"]) in uids
    }
