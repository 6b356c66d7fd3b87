"""The activities of a NodeRequest's life, one for each effect of its step function."""

from collections.abc import Awaitable, Callable

from temporalio import activity

from activities.objects.effects import CLOCKS_DIFFER_BY, act_of, carry_out
from activities.objects.events import Recorder
from activities.objects.workflow_id import note_driver
from activities.ports.ports import Ports
from activities.removals.decisions import tell_undecidable
from activities.requests import end as requests_end
from activities.requests import node as requests_node
from activities.requests.create import create_server
from activities.requests.look import RequestSight, look_at_request
from planner.lifecycle.request import BY_DELETION, RequestEffect, next_step
from planner.lifecycle.seen import RequestSeen
from planner.lifecycle.step import Act, EffectInput

Body = Callable[[RequestSight, Act], Awaitable[object]]


class RequestActivities:
    """What is done for a request. Each returns what is seen afterwards.

    Every one may raise Unreachable (no answer of the API server), Conflict (the object kept
    changing), Rejected (the API server refuses) and Unreadable (a person broke the object).
    """

    def __init__(self, ports: Ports, recorder: Recorder) -> None:
        self._ports = ports
        self._recorder = recorder

    @activity.defn(name=RequestEffect.LOOK.value)
    async def look_request(self, given: EffectInput) -> RequestSeen:
        """Look at the request and all that belongs to it."""
        sight = await look_at_request(self._ports, given.name, given.uid)
        if sight is not None:
            await note_driver(self._ports, sight.record)
            await tell_undecidable(self._recorder, sight.record)
        return _seen(sight)

    @activity.defn(name=RequestEffect.CREATE_SERVER.value)
    async def create_server(self, given: EffectInput) -> RequestSeen:
        """Ask the provider for the server.

        Raises:
            UnknownOutcome: it may exist; repeat.
        """
        return await self._run(given, lambda sight, act: create_server(self._ports, self._recorder, sight, act))

    @activity.defn(name=RequestEffect.MARK_UNMET.value)
    async def mark_unmet(self, given: EffectInput) -> RequestSeen:
        """Record that the offering has no capacity."""
        return await self._run(
            given, lambda sight, act: requests_node.mark_unmet(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RequestEffect.MARK_RUNNING.value)
    async def mark_running(self, given: EffectInput) -> RequestSeen:
        """Record that the server runs."""
        return await self._run(given, lambda sight, act: requests_node.mark_running(self._ports, sight, act))

    @activity.defn(name=RequestEffect.REGISTER_NODE.value)
    async def register_node(self, given: EffectInput) -> RequestSeen:
        """Label the Node and keep it for its planned pods."""
        return await self._run(
            given, lambda sight, act: requests_node.register_node(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RequestEffect.TOLERATE_PODS.value)
    async def tolerate_pods(self, given: EffectInput) -> RequestSeen:
        """Let planned pods onto the reserved Node."""
        return await self._run(given, lambda sight, _: requests_node.tolerate_pods(self._ports, self._recorder, sight))

    @activity.defn(name=RequestEffect.MARK_READY.value)
    async def mark_ready(self, given: EffectInput) -> RequestSeen:
        """Record that the Node is Ready."""
        return await self._run(
            given, lambda sight, act: requests_node.mark_ready(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RequestEffect.MARK_SETTLED.value)
    async def mark_settled(self, given: EffectInput) -> RequestSeen:
        """Record that all planned pods are there."""
        return await self._run(given, lambda sight, act: requests_node.mark_settled(self._ports, sight, act))

    @activity.defn(name=RequestEffect.RELEASE_NODE.value)
    async def release_node(self, given: EffectInput) -> RequestSeen:
        """Open the Node for all pods."""
        return await self._run(
            given, lambda sight, act: requests_node.release_node(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RequestEffect.GIVE_UP.value)
    async def give_up(self, given: EffectInput) -> RequestSeen:
        """Record that the machine shall go."""
        return await self._run(given, lambda sight, act: requests_end.give_up(self._ports, self._recorder, sight, act))

    @activity.defn(name=RequestEffect.HAND_OVER.value)
    async def hand_over(self, given: EffectInput) -> RequestSeen:
        """Order the server's removal and end the request."""
        return await self._run(
            given, lambda sight, act: requests_end.hand_over(self._ports, self._recorder, sight, act)
        )

    @activity.defn(name=RequestEffect.FINISH.value)
    async def finish_request(self, given: EffectInput) -> RequestSeen:
        """End the request; its machine stays."""
        return await self._run(given, lambda sight, act: requests_end.finish(self._ports, sight, act))

    @activity.defn(name=RequestEffect.FORGET.value)
    async def forget_request(self, given: EffectInput) -> RequestSeen:
        """Drop the finalizer, because our definitions are being removed."""
        return await self._run(given, lambda sight, _: requests_end.forget(self._ports, sight))

    async def _run(self, given: EffectInput, body: Body) -> RequestSeen:
        act = act_of(given)
        return _seen(
            await carry_out(
                lambda: look_at_request(self._ports, given.name, given.uid),
                lambda sight: self._is_due(sight.seen, act),
                lambda sight: body(sight, act),
            )
        )

    def _is_due(self, seen: RequestSeen, act: Act) -> bool:
        if act.reason in BY_DELETION:
            # A workflow cancellation counts as a deletion that the object does not show.
            seen = seen.model_copy(update={"deleting": True})
        now = self._ports.now()
        steps = (next_step(seen, now), next_step(seen, now + CLOCKS_DIFFER_BY))
        return any(isinstance(step, Act) and step.effect == act.effect for step in steps)


def _seen(sight: RequestSight | None) -> RequestSeen:
    return RequestSeen(exists=False) if sight is None else sight.seen
