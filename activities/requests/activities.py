"""The effects of a NodeRequest: one body for each effect of its step function."""

from datetime import datetime
from typing import Any, Final

from activities.objects.events import Recorder, tell
from activities.objects.kind_activities import KindActivities, is_next
from activities.objects.kinds import REQUESTS
from activities.requests import end, node
from activities.requests.create import create_server
from activities.requests.look import RequestObjects, look_at_request
from activities.requests.rest import rest_of_request
from api.keys import ANNOTATION_DECISION
from planner.lifecycle.decision import REFUSED, decision_on
from planner.lifecycle.kinds import LifecycleKind
from planner.lifecycle.request import BY_DELETION, RequestEffect
from planner.lifecycle.seen import RequestObservation
from planner.lifecycle.step import Act


def _is_due(kind: LifecycleKind[Any], seen: RequestObservation, act: Act, now: datetime) -> bool:
    if act.reason in BY_DELETION:
        # A workflow cancellation counts as a deletion that the object does not show.
        seen = seen.model_copy(update={"deleting": True})
    return is_next(kind, seen, act, now)


async def _tell_undecidable(recorder: Recorder, observed: RequestObjects) -> None:
    """Tell an event about a decision written on a request, which only removals take, with the advice. Never raises."""
    request = observed.record
    decision = decision_on(request.model.metadata.annotations)
    if decision is not None:
        message = (
            f"{request.resource.kind} {request.name}: annotation {ANNOTATION_DECISION}={decision.word} has no effect: "
            f"only removals take decisions; to cancel a request, delete it: kubectl delete noderequest {request.name}"
        )
        await tell(recorder, request, REFUSED, message, warning=True)


REQUEST_ACTIVITIES: Final[KindActivities[RequestObjects]] = KindActivities(
    stored=REQUESTS,
    look=look_at_request,
    bodies={
        RequestEffect.CREATE_SERVER: lambda of: create_server(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.MARK_UNMET: lambda of: node.mark_unmet(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.MARK_RUNNING: lambda of: node.mark_running(of.ports, of.observed, of.act),
        RequestEffect.REGISTER_NODE: lambda of: node.register_node(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.TOLERATE_PODS: lambda of: node.tolerate_pods(of.ports, of.recorder, of.observed),
        RequestEffect.MARK_READY: lambda of: node.mark_ready(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.MARK_TRIED: lambda of: node.mark_tried(of.ports, of.observed, of.act),
        RequestEffect.MARK_SETTLED: lambda of: node.mark_settled(of.ports, of.observed, of.act),
        RequestEffect.RELEASE_NODE: lambda of: node.release_node(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.GIVE_UP: lambda of: end.give_up(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.HAND_OVER: lambda of: end.hand_over(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.FINISH: lambda of: end.finish(of.ports, of.observed, of.act),
        RequestEffect.TELL_DELAY: lambda of: node.tell_delay(of.ports, of.recorder, of.observed, of.act),
        RequestEffect.FORGET: lambda of: end.forget(of.ports, of.observed),
    },
    is_due=_is_due,
    rest=rest_of_request,
    after_look=_tell_undecidable,
)
