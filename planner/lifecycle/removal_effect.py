"""What is done in a removal's lifecycle: the names of its activities."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class RemovalEffect(StrEnum):
    """The activities of a removal's lifecycle."""

    LOOK = "look_removal"
    TAINT_NODE = "taint_node"
    ANSWER = "answer_decision"
    CANCEL = "cancel_removal"
    UNTAINT_NODE = "untaint_node"
    DRAIN = "begin_drain"
    TELL_BLOCKERS = "tell_blockers"
    TELL_DEADLINE = "tell_deadline"
    EVICT = "evict_pods"
    LEAVE_BALANCERS = "leave_balancers"
    COMMIT = "commit_removal"
    TELL_VOLUMES = "tell_volumes"
    DELETE_SERVER = "delete_server"
    DELETE_NODE = "delete_node"
    PARK = "park_removal"
    RESUME = "resume_removal"
    ABANDON = "abandon_server"
    SKIP = "skip_server"
    FINISH = "finish_removal"
    FORGET = "forget_removal"


CONSEQUENCES: Final[Mapping[str, str]] = {
    RemovalEffect.TAINT_NODE: "the node is closed again",
    RemovalEffect.CANCEL: "the removal is cancelled. {message}",
    RemovalEffect.UNTAINT_NODE: "the removal ends, and the node takes pods again. {message}",
    RemovalEffect.DRAIN: "its pods leave. {message}",
    RemovalEffect.TELL_DEADLINE: "pods and Node are told how long they have",
    RemovalEffect.LEAVE_BALANCERS: "load balancers are asked to leave the node out",
    RemovalEffect.COMMIT: "its server is deleted",
    RemovalEffect.DELETE_SERVER: "the provider is asked to delete the server",
    RemovalEffect.DELETE_NODE: "the Node object is deleted",
    RemovalEffect.PARK: "the removal waits for a person. {message}",
    RemovalEffect.RESUME: "the server is deleted again",
    RemovalEffect.FINISH: "the removal ends. {message}",
}
"""What the deadline of a wait brings, as the rest of a sentence; other effects are told by their messages."""
