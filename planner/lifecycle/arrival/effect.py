"""What is done in a request's lifecycle: the names of its activities, and the steps that ask for them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from planner.lifecycle.seen import NodeSeen, RequestObservation
from planner.lifecycle.step import Act

CANCELLED: Final = "Cancelled"
DELETED: Final = "Deleted"


class RequestEffect(StrEnum):
    """The activities of a request's lifecycle."""

    LOOK = "look_request"
    CREATE_SERVER = "create_server"
    MARK_UNMET = "mark_unmet"
    MARK_RUNNING = "mark_running"
    REGISTER_NODE = "register_node"
    TOLERATE_PODS = "tolerate_pods"
    MARK_READY = "mark_ready"
    MARK_TRIED = "mark_tried"
    MARK_SETTLED = "mark_settled"
    RELEASE_NODE = "release_node"
    GIVE_UP = "give_up"
    HAND_OVER = "hand_over"
    FINISH = "finish_request"
    TELL_DELAY = "tell_delay"
    FORGET = "forget_request"


CONSEQUENCES: Final[Mapping[str, str]] = {
    RequestEffect.MARK_TRIED: "its planned pods have the time of its reservation to land",
    RequestEffect.MARK_READY: "the machine counts as Ready. {message}",
    RequestEffect.RELEASE_NODE: "the node opens for all pods",
    RequestEffect.GIVE_UP: "the server is removed",
    RequestEffect.FINISH: "this record goes. {message}",
}
"""What the deadline of a wait brings, as the rest of a sentence; other effects are told by their messages."""


def register(node: NodeSeen) -> Act:
    """Return the step that makes the Node the request's own."""
    return Act(
        effect=RequestEffect.REGISTER_NODE,
        reason="Registered",
        message=f"Node {node.name} joined: label it and keep it for its pods",
    )


def tolerate(seen: RequestObservation) -> Act:
    """Return the step that lets planned pods onto the reserved Node."""
    return Act(
        effect=RequestEffect.TOLERATE_PODS,
        reason="Reserved",
        message=f"Let {seen.untolerated} planned pods onto the node",
    )


def give_up(reason: str, message: str) -> Act:
    """Return the step that gives the machine up."""
    return Act(effect=RequestEffect.GIVE_UP, reason=reason, message=message)


def release(reason: str, message: str) -> Act:
    """Return the step that opens the Node for all."""
    return Act(effect=RequestEffect.RELEASE_NODE, reason=reason, message=message)


def lift() -> Act:
    """Return the step that lifts the taint of a reservation that has ended."""
    return release("Released", "The reservation ended, but its taint is still there: lift it")


def finish(reason: str, message: str) -> Act:
    """Return the last step, after which the machine stays, if there is one."""
    return Act(effect=RequestEffect.FINISH, reason=reason, message=message)
