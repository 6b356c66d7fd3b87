"""What is done in a removal's lifecycle: the names of its activities."""

from enum import StrEnum


class RemovalEffect(StrEnum):
    """The activities of a removal's lifecycle."""

    LOOK = "look_removal"
    TAINT_NODE = "taint_node"
    ANSWER = "answer_decision"
    CANCEL = "cancel_removal"
    UNTAINT_NODE = "untaint_node"
    DRAIN = "begin_drain"
    TELL_BLOCKERS = "tell_blockers"
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
