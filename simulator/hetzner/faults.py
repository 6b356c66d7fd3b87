"""Scripted faults of the fake API.

Source: the faults of this list are those that users and other autoscalers for Hetzner have met.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal

from simulator.hetzner.reply import Reply, error_body

Verb = Literal[
    "create_server",
    "delete_server",
    "list_servers",
    "get_server",
    "label_server",
    "attach_to_network",
    "power_on",
    "power_off",
    "protect_server",
    "list_actions",
    "create_placement_group",
    "list_placement_groups",
    "label_placement_group",
    "delete_placement_group",
    "read_catalogue",
    "read_images",
    "read_networks",
    "read_firewalls",
    "read_ssh_keys",
    "unknown",
]
"""What a call does. read_catalogue is about server types, locations and prices."""

Kind = Literal[
    "error",
    "lost_request",
    "lost_reply",
    "error_after",
    "action_error",
    "slow_action",
    "stuck_delete",
    "hidden",
    "late",
]


@dataclass(frozen=True, slots=True)
class About:
    """What a call is about; empty where it is not about a server."""

    verb: Verb
    server_type: str = ""
    location: str = ""
    name: str = ""


@dataclass(slots=True, eq=False)
class Fault:
    """A fault that calls meet.

    - error: nothing happens; the answer is `status` and `code`.
    - lost_request: nothing happens, and there is no answer.
    - late: no answer; what was asked for happens `seconds` later.
    - lost_reply: it happens, but there is no answer.
    - error_after: it happens, but the answer is `status` and `code`.
    - action_error: the call succeeds, and the action `command` fails later with `code`.
    - slow_action: the action `command` takes `seconds`.
    - stuck_delete: the action of the deletion succeeds, but the server stays until this fault is removed.
    - hidden: a server that is made is missing from lists for `seconds`.
    """

    verb: Verb | Literal["any"]
    kind: Kind
    times: int | None = field(default=1, kw_only=True)
    """How many calls meet it; None: each one."""
    server_type: str | None = field(default=None, kw_only=True)
    location: str | None = field(default=None, kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    """Name of the server, or of the placement group."""
    seconds: float = field(default=0.0, kw_only=True)
    code: str = field(default="", kw_only=True)
    """Without it, the body of the answer is empty, as a gateway's may be."""
    status: int = field(default=int(HTTPStatus.INTERNAL_SERVER_ERROR), kw_only=True)
    message: str = field(default="", kw_only=True)
    command: str = field(default="", kw_only=True)
    """The action that fails or is slow, such as start_server; without it, the call's first one."""
    hangs: bool = field(default=False, kw_only=True)
    """Of an answer that is lost over HTTP: the connection stays open until the caller gives up."""
    met: int = field(default=0, init=False)
    """How many calls have met it."""

    def holds(self, about: About) -> bool:
        """Return whether it is about this call and not used up."""
        return (
            self.verb in ("any", about.verb)
            and self.server_type in (None, about.server_type)
            and self.location in (None, about.location)
            and self.name in (None, about.name)
            and (self.times is None or self.met < self.times)
        )

    def reply(self) -> Reply:
        """Return the answer of a call that meets it."""
        if self.kind in ("lost_request", "lost_reply", "late"):
            return Reply(0, is_lost=True, is_hanging=self.hangs)
        return Reply(self.status, error_body(self.code, self.message or self.code) if self.code else None)


class Faults:
    """The faults of a cloud. A used-up one stays until it is removed."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults))

    def __contains__(self, fault: Fault) -> bool:
        return fault in self._faults

    def append(self, fault: Fault) -> Fault:
        """Add a fault and return it; of several that hold for a call, the first one is met."""
        self._faults.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Take a fault away.

        Raises:
            ValueError: it is not there.
        """
        self._faults.remove(fault)

    def clear(self) -> None:
        """Take all faults away."""
        self._faults.clear()

    def meet(self, about: About, *kinds: Kind) -> Fault | None:
        """Return the first fault of these kinds that holds for the call, and count it; None if there is none."""
        for fault in self:
            if fault.kind in kinds and fault.holds(about):
                fault.met += 1
                return fault
        return None

    def meet_action(self, about: About, command: str, *, is_first: bool, kind: Kind) -> Fault | None:
        """Return the first fault of this kind that the call's action meets, and count it; None if there is none."""
        for fault in self:
            is_meant = fault.command == command or (is_first and not fault.command)
            if fault.kind == kind and is_meant and fault.holds(about):
                fault.met += 1
                return fault
        return None
