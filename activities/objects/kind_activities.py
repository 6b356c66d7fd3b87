"""The activities of a kind, made of its row: one that looks, and one for each effect of its step function.

An effect looks, does what is still the next step, and looks again. So each may be executed any number of times, also by
an attempt that was given up and still runs somewhere: what is no longer due is not done, and every write is conditional
on what was looked at. Each activity returns what is seen afterwards, and may raise Unreachable (no answer of the API
server), Conflict (the object kept changing), Rejected (the API server refuses) and Unreadable (a person broke the
object); the worker's interceptor turns these into Temporal's errors, the simulator reads them as they are.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, Protocol, TypeVar

from temporalio import activity

from activities.kube.json_patch import guarded, set_field
from activities.objects.events import Recorder
from activities.objects.kinds import StoredKind
from activities.objects.record import Record
from activities.ports.errors import Conflict, GrowthError, NotFound
from activities.ports.ports import Ports
from planner.lifecycle.kinds import LifecycleKind, ObjectId
from planner.lifecycle.seen import LifecycleObservation
from planner.lifecycle.step import Act, EffectInput

log = logging.getLogger(__name__)

Activity = Callable[[EffectInput], Awaitable[Any]]

TRIES: Final = 4
"""Looks before a conflict is left to the retry policy, which waits in between."""
CLOCKS_DIFFER_BY: Final = timedelta(seconds=1)
"""The driver saw a deadline pass by its own clock; this one may be a little behind."""


class LifecycleObjects(Protocol):
    """The result of a look: the object and all that belongs to it, at one moment."""

    @property
    def record(self) -> Record[Any]:
        """The object."""
        ...

    @property
    def seen(self) -> Any:
        """The observation that the step function takes: the kind's own type."""
        ...


ObjectsT = TypeVar("ObjectsT", bound=LifecycleObjects)
ObservedT = TypeVar("ObservedT")
"""The result of a look: the observation for the driver, and the objects for the effect."""


@dataclass(frozen=True, slots=True)
class EffectContext(Generic[ObjectsT]):
    """The arguments of an effect."""

    ports: Ports
    recorder: Recorder
    observed: ObjectsT
    """The result of the look: every write is conditional on it."""
    act: Act
    """The step that asks for the effect."""


async def tell_nothing(_recorder: Recorder, _observed: Any) -> None:
    """Tell no event about a look."""


async def never_at_rest(_ports: Ports, _name: str, _uid: str) -> None:
    """Return None: each look is live."""


def is_next(kind: LifecycleKind[Any], seen: LifecycleObservation, act: Act, now: datetime) -> bool:
    """Return whether the effect is the next step of the observation, by a clock that may be a little behind."""
    steps = (kind.next_step(seen, None, now), kind.next_step(seen, None, now + CLOCKS_DIFFER_BY))
    return any(isinstance(step, Act) and step.effect == act.effect for step in steps)


@dataclass(frozen=True, slots=True, eq=False)
class KindActivities(Generic[ObjectsT]):
    """The activities of a kind, as a row."""

    stored: StoredKind[Any]
    look: Callable[[Ports, str, str], Awaitable[ObjectsT | None]]
    """Finds the object of a name and uid and what belongs to it; None when its lifecycle is over."""
    bodies: Mapping[str, Callable[[EffectContext[ObjectsT]], Awaitable[object]]]
    """The body of each effect."""
    is_due: Callable[[LifecycleKind[Any], Any, Act, datetime], bool] = is_next
    """Whether an effect is still to be run: what was seen, the step that asks for it, and the time."""
    rest: Callable[[Ports, str, str], Awaitable[ObjectsT | None]] = never_at_rest
    """The look off caches at an object at rest; None asks for the live one."""
    after_look: Callable[[Recorder, ObjectsT], Awaitable[None]] = tell_nothing
    """Tells events about the result of a look. Never raises."""


def activities_of(row: KindActivities[Any], ports: Ports, recorder: Recorder) -> dict[str, Activity]:
    """Return the activities of a kind by name."""
    kind = row.stored.lifecycle
    gone: Final = kind.seen(exists=False)

    async def look(given: EffectInput) -> Any:
        observed = await row.rest(ports, given.name, given.uid) if given.at_rest else None
        if observed is None:
            observed = await row.look(ports, given.name, given.uid)
        if observed is None:
            return gone
        await note_driver(ports, observed.record)
        await row.after_look(recorder, observed)
        return observed.seen

    def effect(body: Callable[[EffectContext[Any]], Awaitable[object]]) -> Activity:
        async def run(given: EffectInput) -> Any:
            act = act_of(given)
            observed = await run_effect(
                lambda: row.look(ports, given.name, given.uid),
                lambda observed: row.is_due(kind, observed.seen, act, ports.now()),
                lambda observed: body(EffectContext(ports, recorder, observed, act)),
            )
            return gone if observed is None else observed.seen

        return run

    made = {kind.look: look} | {name: effect(body) for name, body in row.bodies.items()}
    return {str(name): _named(run, str(name), kind) for name, run in made.items()}


def _named(run: Activity, name: str, kind: LifecycleKind[Any]) -> Activity:
    # A worker registers an activity by its name, and reads the types of its payloads off the function.
    run.__name__ = run.__qualname__ = name
    run.__annotations__ = {"given": EffectInput, "return": kind.seen}
    return activity.defn(name=name)(run)


async def note_driver(ports: Ports, record: Record[Any]) -> None:
    """Write the id of the object's workflow on it if it has none yet, so that no round asks for another start of it.

    Never raises: the next look writes it. Source: docs/design.md#healing.
    """
    if record.model.status.workflow_id:
        return
    subject = ObjectId(name=record.name, uid=record.uid)
    workflow_id = record.stored.lifecycle.workflow_id(ports.cluster_name, subject)
    operations = guarded(record.object, set_field(record.object, ("status", "workflowId"), workflow_id))
    try:
        await ports.cluster.patch(record.resource, record.name, operations, subresource="status")
    except (Conflict, NotFound):
        log.debug("%s changed while its workflow was noted", record.name)
    except GrowthError as error:
        log.warning("the workflow of %s was not noted: %s", record.name, error)


def act_of(given: EffectInput) -> Act:
    """Return the step that asks for the effect.

    Raises:
        ValueError: there is none, which only a look may do without.
    """
    if given.act is None:
        msg = f"{given.name}: an effect needs the step that asks for it"
        raise ValueError(msg)
    return given.act


async def run_effect(
    look: Callable[[], Awaitable[ObservedT | None]],
    is_due: Callable[[ObservedT], bool],
    effect: Callable[[ObservedT], Awaitable[object]],
) -> ObservedT | None:
    """Look, run `effect` if it is due, look again and return that look's result; None when the object is gone.

    Raises:
        Conflict: what was looked at kept changing.
        NotFound: something needed kept being absent.
    """
    tries = 0
    while True:
        tries += 1
        observed = await look()
        if observed is None or not is_due(observed):
            return observed
        try:
            await effect(observed)
        except (Conflict, NotFound):
            # Somebody else was first: a new look decides whether the effect is still due.
            if tries >= TRIES:
                raise
        else:
            return await look()
