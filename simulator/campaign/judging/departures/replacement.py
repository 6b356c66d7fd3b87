"""That no pod leaves for a machine that is bought for it before that one is Ready, and that one is bought once."""

from collections.abc import Callable, Iterator
from typing import Final

from activities.ports.cluster import NODE_REMOVAL_REQUESTS, NODE_REQUESTS, NODES, Object, Resource
from api.keys import LABEL_STEP
from simulator.apiserver.history import Change
from simulator.campaign.judging.departures.facts import Facts
from simulator.campaign.judging.recorder import Witness, labels_of, phase_of
from simulator.scheduling.conditions import condition_status

_ANSWERED_SECONDS: Final = 1.5
"""Between a worker's look at the machine and the effect of an eviction, when every call has its answer."""
_LATE_SECONDS: Final = 15.0
"""The same when a write waits for its answer, and the eviction takes effect after it."""
_STARTS: Final = ("Pending", "Provisioning")


class Replacements:
    """Knows which machines take the place of others.

    Args:
        witness: what happened; it must be told of the write after these rules.
        facts: since when.
        seconds: the true time.
        has_losses: whether calls may take effect late.
    """

    def __init__(self, witness: Witness, facts: Facts, *, seconds: Callable[[], float], has_losses: bool) -> None:
        self._witness = witness
        self._facts = facts
        self._seconds = seconds
        self._late = _LATE_SECONDS if has_losses else _ANSWERED_SECONDS
        self._ready: set[str] = set()
        self._unready_since: dict[str, float] = {}
        self._bought: dict[str, set[str]] = {}
        """Requests of each step, by its label."""
        self._named: dict[str, set[str]] = {}
        """Those that removals of the step wait for."""
        self._replaced_by: dict[str, set[str]] = {}
        """All machines that were ever bought in place of one."""

    def note(self, resource: Resource, change: Change) -> None:
        """Take one write."""
        item, name = change.now, change.now["metadata"]["name"]
        label = labels_of(item).get(LABEL_STEP, "")
        if resource == NODES:
            self._note_node(name, is_ready=change.kind != "DELETED" and condition_status(item, "Ready") == "True")
        elif resource == NODE_REQUESTS:
            if change.before is None and label:
                self._bought.setdefault(label, set()).add(name)
            is_wanted = change.kind != "DELETED" and "deletionTimestamp" not in item["metadata"]
            self._facts.note(("starts", name), holds=is_wanted and phase_of(item) in _STARTS)
        elif resource == NODE_REMOVAL_REQUESTS and change.before is None and label:
            self._named.setdefault(label, set()).update(item["spec"].get("replacedBy") or ())

    def unready(self, removal: Object) -> Iterator[str]:
        """Yield the machines that are not Ready although pods leave for them, and that no worker can have seen so."""
        for name in removal["spec"].get("replacedBy") or ():
            since = self._unready_since.get(name, float("-inf"))
            if name not in self._ready and self._seconds() - since > self._late:
                yield name

    def bought_again(self, removal: Object) -> Iterator[str]:
        """Yield the machines on their way in place of the one that shall go and that its removal does not wait for."""
        server, named = removal["spec"]["serverName"], set(removal["spec"].get("replacedBy") or ())
        before = self._replaced_by.setdefault(server, set())
        if named:
            yield from (name for name in sorted(before - named) if self._facts.is_known(("starts", name)))
        before |= named

    def unnamed(self, removal: Object) -> set[str]:
        """Return the machines that were bought for the step of a removal, and that none of it waits for."""
        label = labels_of(removal).get(LABEL_STEP, "")
        return self._bought.get(label, set()) - self._named.get(label, set())

    def _note_node(self, name: str, *, is_ready: bool) -> None:
        if is_ready:
            self._ready.add(name)
            self._unready_since.pop(name, None)
        elif name in self._ready:
            self._ready.discard(name)
            self._unready_since[name] = self._seconds()
