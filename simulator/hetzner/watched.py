"""A fake cloud that reports every change of a server within the call, or the moment, that makes it."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from simulator.hetzner.cloud import FakeHetzner, Recorded
from simulator.hetzner.project.server import ServerRecord, record_of
from simulator.hetzner.project.state import Timeline
from simulator.hetzner.reply import Reply

Told = Callable[[ServerRecord | None, ServerRecord | None], None]
"""Takes a server as it was and as it is; None when it was, or is, not there."""


class _Alarm(Timeline):
    """A timeline that tells of each effect that is put on it, and when the next one is due."""

    def __init__(self, clock: Callable[[], datetime], wake: Callable[[], None]) -> None:
        super().__init__(clock)
        self._wake = wake

    @property
    def next_at(self) -> datetime | None:
        return self._due[0][0] if self._due else None

    def at(self, due: datetime, effect: Callable[[], object]) -> None:
        super().at(due, effect)
        self._wake()


class WatchedHetzner(FakeHetzner):
    """The fake API, which tells of its servers.

    Args:
        now: the time, UTC.
        seed: first part of all ids.
        wake: called when something will happen later that nobody would notice otherwise.
    """

    def __init__(self, now: Callable[[], datetime], *, seed: int = 0, wake: Callable[[], None]) -> None:
        super().__init__(now, seed=seed)
        self._alarm = _Alarm(now, wake)
        self.timeline = self._alarm
        self.told: list[Told] = []
        """Told of each change, in the order of changes."""
        self.before_call: Callable[[str, str, Any], None] = lambda _method, _path, _body: None
        """Called before a call is answered, with its method, path and body."""
        self.after_call: Callable[[Recorded], None] = lambda _call: None
        """Called after a call was answered."""
        self._seen: dict[int, ServerRecord] = {}

    def keep_types(self, names: Collection[str]) -> None:
        """Sell server types of these names only."""
        with self.lock:
            types = self.catalogue._types  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            for name in set(types) - set(names):
                del types[name]

    def next_at(self) -> datetime | None:
        """Return when something happens by itself, or None if nothing will."""
        return self._alarm.next_at

    def handle(self, method: str, path: str, query: Sequence[tuple[str, str]], body: Any, token: str) -> Reply:
        """Answer a call: `FakeHetzner.handle`."""
        self.before_call(method, path, body)
        reply = super().handle(method, path, query, body, token)
        self.after_call(self.requests[-1])
        if method != "GET":
            self._tell()
        return reply

    def catch_up(self) -> None:
        """Let happen what is due: `State.catch_up`."""
        super().catch_up()
        self._tell()

    def vanish(self, name: str, *, project: str = "default") -> None:
        """Let a server be gone at once: `State.vanish`."""
        super().vanish(name, project=project)
        self._tell()

    def _tell(self) -> None:
        now = {id_: record_of(server) for id_, server in self.project().servers.items()}
        before, self._seen = self._seen, now
        if before == now:
            return
        for id_, record in before.items():
            if id_ not in now:
                self._each(record, None)
        for id_, record in now.items():
            if before.get(id_) != record:
                self._each(before.get(id_), record)

    def _each(self, before: ServerRecord | None, now: ServerRecord | None) -> None:
        for observer in self.told:
            observer(before, now)
