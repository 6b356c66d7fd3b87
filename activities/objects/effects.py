"""How every lifecycle effect runs: look, see whether it is still the next step, do it, look again.

So each effect may be executed any number of times, also by an attempt that was given up and still
runs somewhere: what is no longer due is not done, and every write is conditional on what was looked
at. Bodies raise `GrowthError`s; the worker's interceptor turns them into Temporal's, the simulator
reads them as they are.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from activities.objects.events import Recorder
from activities.objects.kinds import Stored
from activities.objects.record import Record
from activities.ports.cluster import Object, Resource
from activities.ports.errors import Conflict, NotFound
from planner.lifecycle.step import Act, EffectInput
from planner.model.plan import PlannedEvent

Sight = TypeVar("Sight")
"""What a look found: the answer for the driver, and the objects for the effect."""

TRIES: Final = 4
"""Looks before a conflict is left to the retry policy, which waits in between."""
CLOCKS_DIFFER_BY: Final = timedelta(seconds=1)
"""The driver saw a deadline pass by its own clock; this one may be a little behind."""


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
    look: Callable[[], Awaitable[Sight | None]],
    is_due: Callable[[Sight], bool],
    effect: Callable[[Sight], Awaitable[object]],
) -> Sight | None:
    """Run `effect` if it is due on what `look` finds, and return what is found afterwards; None is an object gone.

    Raises:
        Conflict: what was looked at kept changing.
        NotFound: something needed kept being absent.
    """
    tries = 0
    while True:
        tries += 1
        sight = await look()
        if sight is None or not is_due(sight):
            return sight
        try:
            await effect(sight)
        except (Conflict, NotFound):
            if tries >= TRIES:
                raise
        else:
            return await look()


async def tell(
    recorder: Recorder,
    record: Record[Stored],
    reason: str,
    message: str,
    *,
    warning: bool = False,
    always: bool = False,
) -> None:
    """Tell a Kubernetes Event on the record's object; `always` as in `Recorder.tell`. Never raises."""
    await tell_on(recorder, record.resource, record.object, reason, message, warning=warning, always=always)


async def tell_on(
    recorder: Recorder,
    resource: Resource,
    subject: Object,
    reason: str,
    message: str,
    *,
    warning: bool = False,
    always: bool = False,
) -> None:
    """Tell a Kubernetes Event on any object; `always` as in `Recorder.tell`. Never raises."""
    metadata = subject["metadata"]
    await recorder.tell(
        PlannedEvent(
            kind=resource.kind,
            name=metadata["name"],
            namespace=metadata.get("namespace"),
            uid=metadata["uid"],
            reason=reason,
            message=message,
            warning=warning,
        ),
        always=always,
    )
