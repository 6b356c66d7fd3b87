"""What can be wrong with Hetzner for a while, as users of it have met it, and how the fake is made to do it.

Source: issues of other autoscalers for Hetzner, each met by somebody once.
"""

from collections.abc import Callable
from enum import StrEnum
from random import Random
from typing import Final, Literal

from simulator.hetzner.faults import Fault, Kind, Verb

_LONGEST_LATE_SECONDS: Final = 40.0
"""So long a server may come, or be seen, after its call: absence is believed after 60 s, by clocks that jump by 18."""


class HetznerTrouble(StrEnum):
    """What is wrong with Hetzner for a while; those of deletions begin with the word."""

    SOLD_OUT = "sold out"
    NO_SPREAD = "create: no host apart from the group's"
    GROUP_FULL = "create: the placement group is full"
    NAME_TAKEN = "create: another cluster takes the name"
    CREATE_LOCKED = "create: conflict"
    CREATE_UNAVAILABLE = "create: service unavailable"
    CREATE_LOST = "create: request lost"
    CREATE_REPLY_LOST = "create: reply lost"
    CREATE_LATE = "create: effect long after the reply was lost"
    CREATE_ERROR_AFTER = "create: an error, and yet it is made"
    CREATE_FAILS = "create: its action fails"
    START_FAILS = "start: its action fails"
    START_LOCKED = "start: locked"
    ATTACH_FAILS = "attach: its action fails"
    SLOW_CREATE = "create: slow"
    SLOW_START = "start: slow"
    HIDDEN = "list: misses new servers"
    DELETE_REFUSED = "delete: refused"
    DELETE_LOCKED = "delete: locked"
    DELETE_REPLY_LOST = "delete: reply lost"
    DELETE_FAILS = "delete: its action fails"
    DELETE_STUCK = "delete: says that it is done, and is not"
    DELETE_PROTECTED = "delete: protected by a person"
    SILENT = "gives no answer"
    GATEWAY = "only its gateway answers"
    QUOTA = "account: no more servers"
    CALLS_USED_UP = "account: others use up the calls"
    TOKEN_INVALID = "account: token invalid"  # noqa: S105 - no password
    TOKEN_READ_ONLY = "account: token may only read"  # noqa: S105 - no password
    NO_CATALOGUE = "catalogue cannot be read"


def _fault(verb: Verb | Literal["any"], kind: Kind, **more: object) -> Callable[[Random], Fault]:
    def made(random: Random) -> Fault:
        times = random.choice([1, 2, 4, None])
        return Fault(verb, kind, times=times, **more)  # pyright: ignore[reportArgumentType]

    return made


def _late(random: Random) -> Fault:
    return Fault(
        "create_server", "late", times=random.choice([1, 2, None]), seconds=random.uniform(0, _LONGEST_LATE_SECONDS)
    )


def _hidden(random: Random) -> Fault:
    return Fault("create_server", "hidden", times=None, seconds=random.uniform(5, _LONGEST_LATE_SECONDS))


def _slow_create(random: Random) -> Fault:
    return Fault("create_server", "slow_action", times=random.choice([1, None]), seconds=random.uniform(40, 200))


FAULTS: Final[dict[HetznerTrouble, tuple[Callable[[Random], Fault], ...]]] = {
    HetznerTrouble.NO_SPREAD: (_fault("create_server", "error", status=412, code="placement_error"),),
    HetznerTrouble.GROUP_FULL: (
        _fault("create_server", "error", status=422, code="placement_group_member_limit_reached"),
    ),
    HetznerTrouble.CREATE_LOCKED: (_fault("create_server", "error", status=409, code="conflict"),),
    HetznerTrouble.CREATE_UNAVAILABLE: (_fault("create_server", "error", status=503, code="unavailable"),),
    HetznerTrouble.CREATE_LOST: (_fault("create_server", "lost_request"),),
    HetznerTrouble.CREATE_REPLY_LOST: (_fault("create_server", "lost_reply"),),
    HetznerTrouble.CREATE_LATE: (_late,),
    HetznerTrouble.CREATE_ERROR_AFTER: (_fault("create_server", "error_after", status=500, code="server_error"),),
    HetznerTrouble.CREATE_FAILS: (_fault("create_server", "action_error", code="resource_unavailable"),),
    HetznerTrouble.START_FAILS: (
        _fault("create_server", "action_error", command="start_server", code="server_error"),
        _fault("power_on", "action_error", command="start_server", code="server_error"),
    ),
    HetznerTrouble.START_LOCKED: (_fault("power_on", "error", status=423, code="locked"),),
    HetznerTrouble.ATTACH_FAILS: (
        _fault("create_server", "action_error", command="attach_to_network", code="server_error"),
        _fault("attach_to_network", "action_error", code="server_error"),
    ),
    HetznerTrouble.SLOW_CREATE: (_slow_create,),
    HetznerTrouble.SLOW_START: (_fault("create_server", "slow_action", command="start_server", seconds=70.0),),
    HetznerTrouble.HIDDEN: (_hidden,),
    HetznerTrouble.DELETE_REFUSED: (_fault("delete_server", "error", status=500, code="server_error"),),
    HetznerTrouble.DELETE_LOCKED: (_fault("delete_server", "error", status=423, code="locked"),),
    HetznerTrouble.DELETE_REPLY_LOST: (_fault("delete_server", "lost_reply"),),
    HetznerTrouble.DELETE_FAILS: (_fault("delete_server", "action_error", code="server_error"),),
    HetznerTrouble.DELETE_STUCK: (_fault("delete_server", "stuck_delete"),),
    HetznerTrouble.SILENT: (_fault("any", "lost_request"),),
    HetznerTrouble.GATEWAY: (_fault("any", "error", status=502),),
    HetznerTrouble.NO_CATALOGUE: (_fault("read_catalogue", "error", status=503, code="unavailable"),),
}
"""Faults of single calls, by trouble."""

AT_FIRST: Final = (
    HetznerTrouble.SOLD_OUT,
    HetznerTrouble.CREATE_LATE,
    HetznerTrouble.CREATE_LOST,
    HetznerTrouble.CREATE_REPLY_LOST,
    HetznerTrouble.CREATE_ERROR_AFTER,
    HetznerTrouble.CREATE_FAILS,
    HetznerTrouble.START_FAILS,
    HetznerTrouble.NAME_TAKEN,
    HetznerTrouble.HIDDEN,
)
"""What meets the first machines."""
OFTEN: Final = (
    HetznerTrouble.CREATE_LATE,
    HetznerTrouble.CREATE_REPLY_LOST,
    HetznerTrouble.CREATE_FAILS,
    HetznerTrouble.DELETE_STUCK,
    HetznerTrouble.DELETE_PROTECTED,
    HetznerTrouble.NAME_TAKEN,
    HetznerTrouble.HIDDEN,
)
"""What has the longest consequences."""
