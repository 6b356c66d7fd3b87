"""The activities of a NodeRemovalRequest's life, one for each effect of its step function."""

from collections.abc import Awaitable, Callable

from temporalio import activity

from activities.objects.effects import CLOCKS_DIFFER_BY, act_of, carry_out
from activities.objects.events import Recorder
from activities.objects.workflow_id import note_driver
from activities.ports.ports import Ports
from activities.removals import cool_off as removals_cool_off
from activities.removals import drain as removals_drain
from activities.removals import end as removals_end
from activities.removals import server as removals_server
from activities.removals.decisions import answer_decision
from activities.removals.look import RemovalSight, look_at_removal
from planner.lifecycle.decision import annotated, refusal
from planner.lifecycle.removal import RemovalEffect, next_step
from planner.lifecycle.seen import RemovalSeen
from planner.lifecycle.step import Act, DecisionKind, EffectInput

Body = Callable[[RemovalSight, Act], Awaitable[object]]

_DECISIONS = {
    RemovalEffect.CANCEL: DecisionKind.CANCEL,
    RemovalEffect.RESUME: DecisionKind.RETRY,
    RemovalEffect.SKIP: DecisionKind.SKIP,
    RemovalEffect.ABANDON: DecisionKind.ABANDON,
}
"""Effects that a message may ask for: due as long as it would be accepted and nothing else stands on the object."""


class RemovalActivities:
    """What is done for a removal. Each returns what is seen afterwards.

    Every one may raise Unreachable (no answer of the API server), Conflict (the object kept
    changing), Rejected (the API server refuses) and Unreadable (a person broke the object).
    """

    def __init__(self, ports: Ports, recorder: Recorder) -> None:
        self._ports = ports
        self._recorder = recorder

    @activity.defn(name=RemovalEffect.LOOK.value)
    async def look_removal(self, given: EffectInput) -> RemovalSeen:
        """Look at the removal and all that belongs to it."""
        sight = await look_at_removal(self._ports, given.name, given.uid)
        if sight is not None:
            await note_driver(self._ports, sight.record)
            await removals_end.tell_late_deletion(self._recorder, sight)
        return _seen(sight)

    @activity.defn(name=RemovalEffect.TAINT_NODE.value)
    async def taint_node(self, given: EffectInput) -> RemovalSeen:
        """Begin the cool-off."""
        return await self._run(
            given, lambda sight, act: removals_cool_off.taint_node(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.ANSWER.value)
    async def answer_decision(self, given: EffectInput) -> RemovalSeen:
        """Answer a decision by annotation that has no effect (any more), and take it off."""
        return await self._run(given, lambda sight, _: answer_decision(self._ports, self._recorder, sight))

    @activity.defn(name=RemovalEffect.CANCEL.value)
    async def cancel_removal(self, given: EffectInput) -> RemovalSeen:
        """Record a cancel, if it is not too late."""
        return await self._run(
            given, lambda sight, act: removals_cool_off.cancel(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.UNTAINT_NODE.value)
    async def untaint_node(self, given: EffectInput) -> RemovalSeen:
        """Give a cancelled Node back to the scheduler."""
        return await self._run(given, lambda sight, _: removals_cool_off.untaint_node(self._ports, sight))

    @activity.defn(name=RemovalEffect.DRAIN.value)
    async def begin_drain(self, given: EffectInput) -> RemovalSeen:
        """Let the Node be drained."""
        return await self._run(
            given, lambda sight, act: removals_drain.begin_drain(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.TELL_BLOCKERS.value)
    async def tell_blockers(self, given: EffectInput) -> RemovalSeen:
        """Write and tell which pods block the drain."""
        return await self._run(
            given, lambda sight, act: removals_drain.tell_blockers(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.EVICT.value)
    async def evict_pods(self, given: EffectInput) -> RemovalSeen:
        """Ask pods to leave."""
        return await self._run(
            given, lambda sight, act: removals_drain.evict_pods(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.COMMIT.value)
    async def commit_removal(self, given: EffectInput) -> RemovalSeen:
        """Pass the point of no return, if the Node is still empty and nobody cancelled."""
        return await self._run(
            given, lambda sight, act: removals_cool_off.commit(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.DELETE_SERVER.value)
    async def delete_server(self, given: EffectInput) -> RemovalSeen:
        """Ask the provider to delete the server."""
        return await self._run(
            given, lambda sight, _: removals_server.delete_server(self._ports, self._recorder, sight)
        )

    @activity.defn(name=RemovalEffect.DELETE_NODE.value)
    async def delete_node(self, given: EffectInput) -> RemovalSeen:
        """Delete the Node object of a server that is gone."""
        return await self._run(given, lambda sight, _: removals_server.delete_node(self._ports, sight))

    @activity.defn(name=RemovalEffect.PARK.value)
    async def park_removal(self, given: EffectInput) -> RemovalSeen:
        """Record that the server could not be removed."""
        return await self._run(given, lambda sight, act: removals_server.park(self._ports, self._recorder, sight, act))

    @activity.defn(name=RemovalEffect.RESUME.value)
    async def resume_removal(self, given: EffectInput) -> RemovalSeen:
        """Begin the delete calls anew."""
        return await self._run(
            given, lambda sight, act: removals_server.resume(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RemovalEffect.ABANDON.value)
    async def abandon_server(self, given: EffectInput) -> RemovalSeen:
        """Leave a parked server to its people.

        Raises:
            UnknownOutcome: the provider does not answer; repeat.
        """
        return await self._run(given, lambda sight, act: removals_end.abandon(self._ports, self._recorder, sight, act))

    @activity.defn(name=RemovalEffect.SKIP.value)
    async def skip_server(self, given: EffectInput) -> RemovalSeen:
        """Treat a parked server as gone."""
        return await self._run(given, lambda sight, act: removals_end.skip(self._ports, self._recorder, sight, act))

    @activity.defn(name=RemovalEffect.FINISH.value)
    async def finish_removal(self, given: EffectInput) -> RemovalSeen:
        """End the removal."""
        return await self._run(given, lambda sight, act: removals_end.finish(self._ports, self._recorder, sight, act))

    @activity.defn(name=RemovalEffect.FORGET.value)
    async def forget_removal(self, given: EffectInput) -> RemovalSeen:
        """Drop the finalizer, because our definitions are being removed."""
        return await self._run(given, lambda sight, _: removals_end.forget(self._ports, sight))

    async def _run(self, given: EffectInput, body: Body) -> RemovalSeen:
        act = act_of(given)
        return _seen(
            await carry_out(
                lambda: look_at_removal(self._ports, given.name, given.uid),
                lambda sight: self._is_due(sight.seen, act),
                lambda sight: body(sight, act),
            )
        )

    def _is_due(self, seen: RemovalSeen, act: Act) -> bool:
        now = self._ports.now()
        steps = (next_step(seen, None, now), next_step(seen, None, now + CLOCKS_DIFFER_BY))
        if any(isinstance(step, Act) and step.effect == act.effect for step in steps):
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


def _seen(sight: RemovalSight | None) -> RemovalSeen:
    return RemovalSeen(exists=False) if sight is None else sight.seen
