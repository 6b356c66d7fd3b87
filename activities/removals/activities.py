"""The effects of a NodeRemovalRequest: one body for each effect of its step function.

A decision that a person writes on a removal as an annotation is answered here and taken off. One that has an effect
needs no answer before its effect is on the object. The answer is on the object before the annotation goes, and both
are conditional on the version that was looked at: a kill in between repeats the answer, and a newer value is answered
by itself.
"""

from datetime import datetime
from typing import Any, Final

from activities.kube.json_patch import guarded, set_field
from activities.objects.events import Recorder, tell
from activities.objects.kind_activities import KindActivities, is_next
from activities.objects.kinds import REMOVALS
from activities.objects.record import write_status
from activities.ports.ports import Ports
from activities.removals import cool_off, drain, end, server
from activities.removals.look import RemovalObjects, look_at_removal
from api.keys import ANNOTATION_DECISION, ANNOTATION_DECISION_REASON
from planner.lifecycle.decision import TAKEN, annotated, answer, refusal
from planner.lifecycle.kinds import LifecycleKind
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.seen import RemovalObservation
from planner.lifecycle.step import Act, DecisionKind

_DECISIONS: Final = {
    RemovalEffect.CANCEL: DecisionKind.CANCEL,
    RemovalEffect.RESUME: DecisionKind.RETRY,
    RemovalEffect.SKIP: DecisionKind.SKIP,
    RemovalEffect.ABANDON: DecisionKind.ABANDON,
}
"""Effects that a message may ask for: due as long as it would be accepted and nothing else stands on the object."""


def _is_due(kind: LifecycleKind[Any], seen: RemovalObservation, act: Act, now: datetime) -> bool:
    if is_next(kind, seen, act, now):
        return True
    decision = _DECISIONS.get(RemovalEffect(act.effect))
    wanted = annotated(seen)
    return (
        decision is not None
        and (wanted is None or wanted.kind is decision)
        and not seen.crds_going
        and seen.status.cancel is None
        and refusal(seen, decision) is None
    )


async def _tell_of_look(recorder: Recorder, observed: RemovalObjects) -> None:
    await end.tell_late_deletion(recorder, observed)
    await server.tell_unseen_volumes(recorder, observed)


async def answer_decision(ports: Ports, recorder: Recorder, observed: RemovalObjects) -> None:
    """Tell an event with the answer to the decision, unless it was carried out, and take its annotation off.

    Raises:
        Conflict: the removal has changed since it was read, perhaps by another decision.
    """
    given = answer(observed.seen)
    if given is None:
        return
    record = observed.record
    if given.reason != TAKEN:
        last_events = record.model.status.events[-1:]
        is_repeat = [(event.name, event.reason) for event in last_events] == [(given.reason, given.message)]
        if not is_repeat:
            record = await write_status(
                ports.cluster, record, now=ports.now(), event=given.reason, because=given.message
            )
        message = f"{record.resource.kind} {record.name}: annotation {given.message}. It is taken off"
        await tell(recorder, record, given.reason, message, warning=True, always=not is_repeat)
    operations = [
        operation
        for annotation in (ANNOTATION_DECISION, ANNOTATION_DECISION_REASON)
        for operation in set_field(record.object, ("metadata", "annotations", annotation), None)
    ]
    await ports.cluster.patch(record.resource, record.name, guarded(record.object, operations))


REMOVAL_ACTIVITIES: Final[KindActivities[RemovalObjects]] = KindActivities(
    stored=REMOVALS,
    look=look_at_removal,
    bodies={
        RemovalEffect.TAINT_NODE: lambda of: cool_off.taint_node(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.ANSWER: lambda of: answer_decision(of.ports, of.recorder, of.observed),
        RemovalEffect.CANCEL: lambda of: cool_off.cancel(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.UNTAINT_NODE: lambda of: cool_off.untaint_node(of.ports, of.observed),
        RemovalEffect.DRAIN: lambda of: drain.begin_drain(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.TELL_BLOCKERS: lambda of: drain.tell_blockers(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.TELL_DEADLINE: lambda of: drain.tell_deadline(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.EVICT: lambda of: drain.evict_pods(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.LEAVE_BALANCERS: lambda of: server.leave_balancers(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.COMMIT: lambda of: cool_off.commit(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.TELL_VOLUMES: lambda of: server.tell_volumes(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.DELETE_SERVER: lambda of: server.delete_server(of.ports, of.recorder, of.observed),
        RemovalEffect.DELETE_NODE: lambda of: server.delete_node(of.ports, of.observed),
        RemovalEffect.PARK: lambda of: server.park(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.RESUME: lambda of: server.resume(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.ABANDON: lambda of: end.abandon(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.SKIP: lambda of: end.skip(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.FINISH: lambda of: end.finish(of.ports, of.recorder, of.observed, of.act),
        RemovalEffect.FORGET: lambda of: end.forget(of.ports, of.observed),
    },
    is_due=_is_due,
    after_look=_tell_of_look,
)
