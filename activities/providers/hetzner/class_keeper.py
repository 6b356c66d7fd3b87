"""Keeps what HetznerNodeClasses know of their projects fresh: prices, images, networks.

A class is looked up at once when its spec or its token changes, every ten minutes while all is well, and
less and less often while it is not: a token that is refused must not use up the calls that others need.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import Cluster, Object, PatchOp
from activities.ports.errors import AuthenticationFailed, Conflict, GrowthError, InvalidConfiguration, NotFound
from activities.ports.ports import Reader
from activities.providers.built_in import HETZNER_NODE_CLASSES
from activities.providers.hetzner.classes.check import CATALOGUE_READ, OWN_CONDITIONS, look_up, without_token
from activities.providers.hetzner.classes.names import ProjectReader
from api.meta import READY, Condition
from api.model import UnreadableError, read
from api.quantity import format_price
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.hetzner_node_class_status import HetznerNodeClassStatus

PERIOD: Final = timedelta(minutes=10)
"""Prices change a few times a year, stock within hours. Nine calls each time are a sixtieth of what an hour allows."""
_JITTER_SECONDS: Final = 60
"""So that the classes of a project do not all ask at once."""
_SHORTEST_PAUSE: Final = timedelta(seconds=10)
_LONGEST_PAUSE: Final = PERIOD
_MOST_DOUBLINGS: Final = 6
"""Ten seconds doubled so often are more than the longest pause."""
_LONGEST_REST_SECONDS: Final = 10.0
"""Between two passes: so soon a change of a spec or a token is noticed."""
_OWN_FIELDS: Final = ("currency", "serverTypes", "ipv4", "places", "readAt", "resolved")
"""Fields of the status that are written here, besides `OWN_CONDITIONS`; the rest is others'."""

log = logging.getLogger(__name__)


class ClientSource(Protocol):
    """Finds the project of a class."""

    async def client(self, node_class: HetznerNodeClass, *, is_fresh: bool) -> ProjectReader:
        """Return the client of the class's project: another one when the token has changed.

        Args:
            node_class: the class.
            is_fresh: its token is read now, and not only after a while.

        Raises:
            InvalidConfiguration: there is no token.
            AuthenticationFailed: what is there is no token.
            Unreachable: the API server does not answer.
        """
        ...


@dataclass(slots=True)
class _Memory:
    """The worker's memory of a class."""

    access: object = None
    """Its client, or why there is none."""
    generation: int | None = None
    """Of the spec that was looked up last."""
    token_generation: int | None = None
    """Of the spec by which the token was read last."""
    tried_at: datetime | None = None
    is_doubted: bool = False
    """Something that was found is not there any more: it is looked up at once."""
    failures: int = 0
    """Looks in a row after which not all was well."""

    @property
    def pause(self) -> timedelta:
        doublings = min(max(0, self.failures - 1), _MOST_DOUBLINGS)
        return min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2**doublings)


class ClassKeeper:
    """Looks classes up when it is time, and writes what was found into their status.

    Several workers may do so at once: whoever finds a fresh status looks nothing up, and of two that write
    the same, one is refused.

    Args:
        cluster: where the classes are.
        projects: of the classes.
        now: the time, UTC.
        classes: where they are read from to see which are due: it may be behind, as each write is conditional on
            what was read. Without it, the cluster.
    """

    def __init__(
        self, cluster: Cluster, projects: ClientSource, *, now: Callable[[], datetime], classes: Reader | None = None
    ) -> None:
        self._cluster = cluster
        self._classes: Reader = classes or cluster
        self._projects = projects
        self._now = now
        self._memories: dict[str, _Memory] = {}
        """By uid."""

    async def keep(self) -> float:
        """Look up the classes whose time it is, and return the seconds until the next pass is due, at most ten.

        A class that fails stops no other.

        Raises:
            GrowthError: the classes cannot be listed.
        """
        items = (await self._classes.list(HETZNER_NODE_CLASSES)).items
        uids = [item["metadata"]["uid"] for item in items]
        self._memories = {uid: self._memories.get(uid) or _Memory() for uid in uids}
        outcomes = await asyncio.gather(*(self._keep_one(item) for item in items), return_exceptions=True)
        rest = _LONGEST_REST_SECONDS
        for item, outcome in zip(items, outcomes, strict=True):
            if not isinstance(outcome, BaseException):
                rest = min(rest, (outcome - self._now()).total_seconds())
            elif isinstance(outcome, GrowthError):
                log.warning("HetznerNodeClass %s was not looked up: %s", item["metadata"]["name"], outcome)
            else:
                log.error("HetznerNodeClass %s was not looked up", item["metadata"]["name"], exc_info=outcome)
        return max(0.0, rest)

    async def look_again(self, name: str) -> None:
        """Look a class up at once: something that was found for it is not there any more.

        Raises:
            GrowthError: it cannot be looked up now; the next pass does it.
        """
        item = await self._cluster.get(HETZNER_NODE_CLASSES, name)
        self._memories.setdefault(item["metadata"]["uid"], _Memory()).is_doubted = True
        await self._keep_one(item)

    async def _keep_one(self, item: Object) -> datetime:
        """Look the class up if its time has come, and return when it comes again."""
        now = self._now()
        try:
            node_class = read(HetznerNodeClass, item)
        except UnreadableError:
            # Every round reports it, and only a person can correct it.
            return now + _LONGEST_PAUSE
        memory = self._memories[item["metadata"]["uid"]]
        access: ProjectReader | GrowthError
        try:
            # One that is not well may wait for its token to be corrected, and a changed spec may name another one.
            is_fresh = memory.failures > 0 or memory.token_generation != node_class.metadata.generation
            memory.token_generation = node_class.metadata.generation
            access = await self._projects.client(node_class, is_fresh=is_fresh)
        except (InvalidConfiguration, AuthenticationFailed) as error:
            access = error
        identity = str(access) if isinstance(access, GrowthError) else access
        due = _due(node_class, memory, identity)
        if due is not None and now < due:
            return due
        if identity != memory.access or node_class.metadata.generation != memory.generation:
            memory.failures = 0
        # Counted as failed until it is known not to be: also an error on the way must lead to a pause.
        memory.access, memory.generation, memory.tried_at = identity, node_class.metadata.generation, now
        memory.failures += 1
        memory.is_doubted = False
        if isinstance(access, GrowthError):
            status = without_token(node_class, access, now=now)
        else:
            status = await look_up(access, self._cluster, node_class, now=now)
        await self._write(item, node_class.status, status)
        if _is_well(status):
            memory.failures = 0
        after = node_class.model_copy(update={"status": status})
        return _due(after, memory, identity) or now

    async def _write(self, item: Object, before: HetznerNodeClassStatus, after: HetznerNodeClassStatus) -> None:
        name = item["metadata"]["name"]
        if _merged(item, after) == item.get("status"):
            return

        def operations(live: Object) -> list[PatchOp]:
            return set_field(live, ("status",), _merged(live, after))

        def is_same(live: Object) -> bool:
            return _mark(live) == _mark(item)

        try:
            await patch_if_same(self._cluster, HETZNER_NODE_CLASSES, item, operations, is_same, subresource="status")
        except (NotFound, Conflict):
            log.debug("HetznerNodeClass %s was changed, deleted or looked up by another worker meanwhile", name)
            return
        for level, line in _changes(before, after):
            log.log(level, "HetznerNodeClass %s: %s", name, line)


def _due(node_class: HetznerNodeClass, memory: _Memory, access: object) -> datetime | None:
    """Return when the class is to be looked up; None is at once."""
    status, generation = node_class.status, node_class.metadata.generation
    if memory.is_doubted or (memory.access is not None and memory.access != access):
        return None
    ready = _condition(status, READY)
    is_looked_up = ready is not None and ready.observed_generation == generation
    if not is_looked_up and (memory.tried_at is None or memory.generation != generation):
        return None
    moments = [] if memory.tried_at is None else [memory.tried_at + memory.pause]
    if is_looked_up and status.read_at is not None:
        moments.append(status.read_at + (PERIOD + _jitter(node_class) if _is_well(status) else memory.pause))
    return max(moments, default=None)


def _is_well(status: HetznerNodeClassStatus) -> bool:
    conditions = (_condition(status, READY), _condition(status, CATALOGUE_READ))
    return all(condition is not None and condition.status == "True" for condition in conditions)


def _jitter(node_class: HetznerNodeClass) -> timedelta:
    digest = hashlib.sha256(node_class.metadata.name.encode()).digest()
    return timedelta(seconds=int.from_bytes(digest[:4], "big") % (_JITTER_SECONDS + 1))


def _merged(item: Object, status: HetznerNodeClassStatus) -> Object:
    """Return the status of the object as found, with the parts that are kept here as in `status`."""
    before, own = item.get("status") or {}, status.to_json()
    merged = {key: value for key, value in before.items() if key not in _OWN_FIELDS}
    merged.update({key: own[key] for key in _OWN_FIELDS if key in own})
    conditions = {each["type"]: each for each in before.get("conditions", ())}
    conditions.update({each.type: each.to_json() for each in status.conditions if each.type in OWN_CONDITIONS})
    return {**merged, "conditions": list(conditions.values())}


def _mark(item: Object) -> tuple[object, object]:
    """Return generation and time of the last lookup, which change with the spec and with another worker's lookup."""
    return item["metadata"].get("generation"), (item.get("status") or {}).get("readAt")


def _condition(status: HetznerNodeClassStatus, kind: str) -> Condition | None:
    return next((condition for condition in status.conditions if condition.type == kind), None)


def _changes(before: HetznerNodeClassStatus, after: HetznerNodeClassStatus) -> Iterator[tuple[int, str]]:
    """Yield level and text of a log line for each change that people may want to know of."""
    for kind in OWN_CONDITIONS:
        old, new = _condition(before, kind), _condition(after, kind)
        if new is not None and (old is None or (old.status, old.message) != (new.status, new.message)):
            level = logging.INFO if new.status == "True" else logging.WARNING
            yield level, f"{kind} is {new.status} ({new.reason}){': ' if new.message else ''}{new.message}"
    known = {
        (server_type.name, place.name): place.price_per_hour
        for server_type in before.server_types
        for place in server_type.locations
    }
    for server_type in after.server_types:
        for place in server_type.locations:
            old_price, new_price = known.get((server_type.name, place.name)), place.price_per_hour
            if old_price is not None and new_price is not None and old_price != new_price:
                price = f"{server_type.name} in {place.name} costs {format_price(new_price)} {after.currency} per hour"
                yield logging.INFO, f"{price}, not {format_price(old_price)} as before"
