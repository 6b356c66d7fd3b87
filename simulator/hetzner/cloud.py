"""The Hetzner Cloud API in memory.

Deterministic: the clock is handed in and ids are counted. One call is one atomic step, from any thread.
Source: Hetzner Cloud API, reference and changelog, as of the autumn of 2026.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

from simulator.hetzner.calls.routes import Route, route
from simulator.hetzner.faults import About, Verb
from simulator.hetzner.project.project import FakeProject
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal, Call, Reply, error_body


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call that was made."""

    at: datetime
    method: str
    verb: Verb
    path: str
    name: str
    """Of the server or placement group that it was about; empty if of none."""


class FakeHetzner(State):
    """A cloud: `handle` answers calls, the switches of `State` change what it answers.

    Args:
        now: the time, UTC.
        seed: first part of all ids, so that two clouds can be told apart.
    """

    def __init__(self, now: Callable[[], datetime], *, seed: int = 0) -> None:
        super().__init__(now, seed=seed)
        self.requests: list[Recorded] = []
        """Every call, refused and lost ones too."""

    def handle(self, method: str, path: str, query: Sequence[tuple[str, str]], body: Any, token: str) -> Reply:
        """Answer a call.

        Args:
            method: such as GET.
            path: without /v1, such as /servers/7.
            query: the parameters, in their order.
            body: JSON; None when there is none.
            token: as in the header, without "Bearer".
        """
        call = Call(method.upper(), path.rstrip("/"), query, body)
        with self.lock:
            self.catch_up()
            target, opened = route(call), self.access(token)
            if opened is None:
                self._record(call, target, "")
                return Reply(HTTPStatus.UNAUTHORIZED, error_body("unauthorized", "the token you provided is invalid"))
            project, access = opened
            about = self._about(call, target, project)
            self._record(call, target, about.name)
            reply = self._answer(call, target, project, about, token=token, is_writer=access == "read_write")
            return replace(reply, headers=project.bucket.headers(self.timeline.now))

    def count(self, verb: Verb | None = None, name: str | None = None) -> int:
        """Return the number of calls, of this verb and about this name if they are given."""
        return sum(verb in (None, each.verb) and name in (None, each.name) for each in list(self.requests))

    def _record(self, call: Call, target: Route, name: str) -> None:
        self.requests.append(Recorded(self.timeline.now, call.method, target.verb, call.path, name))

    def _answer(
        self, call: Call, target: Route, project: FakeProject, about: About, *, token: str, is_writer: bool
    ) -> Reply:
        now = self.timeline.now
        if not project.bucket.take(now):
            # The real one tells half of the token, too.
            message = f"limit of requests per hour reached for token {token[: len(token) // 2]}"
            return Reply(HTTPStatus.TOO_MANY_REQUESTS, error_body("rate_limit_exceeded", message))
        if call.method != "GET" and not is_writer:
            return Reply(HTTPStatus.FORBIDDEN, error_body("token_readonly", "the token is only allowed to read"))
        if call.method != "GET" and project.is_locked:
            message = "the resource you are trying to access is locked, please contact support"
            return Reply(HTTPStatus.LOCKED, error_body("resource_locked", message))
        before = self.faults.meet(about, "error", "lost_request", "late")
        if before is not None:
            if before.kind == "late":
                effect = partial(self._carry_out, call, target, project)
                self.timeline.at(now + timedelta(seconds=before.seconds), effect)
            return before.reply()
        reply = self._carry_out(call, target, project)
        if reply.status >= HTTPStatus.BAD_REQUEST:
            return reply
        after = self.faults.meet(about, "error_after", "lost_reply")
        return reply if after is None else after.reply()

    def _carry_out(self, call: Call, target: Route, project: FakeProject) -> Reply:
        try:
            return target.answer(self, project, call)
        except ApiRefusal as refusal:
            return refusal.reply()

    def _about(self, call: Call, target: Route, project: FakeProject) -> About:
        """Return verb, type, location and name of a call, as far as they are known before it is checked."""
        if target.verb == "create_server":
            return About(
                target.verb,
                str(call.field("server_type") or ""),
                str(call.field("location") or ""),
                str(call.field("name") or ""),
            )
        if target.id is not None and call.path.startswith("/servers/"):
            server = project.servers.get(target.id)
            if server is not None:
                return About(target.verb, server.server_type, server.location, server.name)
        if target.id is not None and call.path.startswith("/placement_groups/"):
            group = project.groups.get(target.id)
            return About(target.verb, name="" if group is None else group.name)
        return About(target.verb, name=str(call.field("name") or call.last("name") or ""))
