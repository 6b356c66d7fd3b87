"""What is done for a NodeRemovalRequest: one body for each effect of its step function."""

from datetime import datetime
from typing import Any, Final

from activities.objects.kind_activities import KindActivities, is_next
from activities.objects.kinds import REMOVALS
from activities.removals import cool_off, drain, end, server
from activities.removals.decisions import answer_decision
from activities.removals.look import RemovalObjects, look_at_removal
from planner.lifecycle.decision import annotated, refusal
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


REMOVAL_ACTIVITIES: Final[KindActivities[RemovalObjects]] = KindActivities(
    stored=REMOVALS,
    look=look_at_removal,
    bodies={
        RemovalEffect.TAINT_NODE: lambda of: cool_off.taint_node(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.ANSWER: lambda of: answer_decision(of.ports, of.recorder, of.sight),
        RemovalEffect.CANCEL: lambda of: cool_off.cancel(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.UNTAINT_NODE: lambda of: cool_off.untaint_node(of.ports, of.sight),
        RemovalEffect.DRAIN: lambda of: drain.begin_drain(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.TELL_BLOCKERS: lambda of: drain.tell_blockers(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.EVICT: lambda of: drain.evict_pods(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.COMMIT: lambda of: cool_off.commit(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.DELETE_SERVER: lambda of: server.delete_server(of.ports, of.recorder, of.sight),
        RemovalEffect.DELETE_NODE: lambda of: server.delete_node(of.ports, of.sight),
        RemovalEffect.PARK: lambda of: server.park(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.RESUME: lambda of: server.resume(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.ABANDON: lambda of: end.abandon(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.SKIP: lambda of: end.skip(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.FINISH: lambda of: end.finish(of.ports, of.recorder, of.sight, of.act),
        RemovalEffect.FORGET: lambda of: end.forget(of.ports, of.sight),
    },
    is_due=_is_due,
    after_look=end.tell_late_deletion,
)
