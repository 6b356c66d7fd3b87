"""Placement groups that spread servers over hosts: ten in each, made when needed and deleted when empty.

Servers that are being deleted still count in their group. Source: Hetzner Cloud documentation, "Placement Groups".
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from itertools import count
from typing import Final

from activities.ports.errors import QuotaExceeded
from activities.ports.identity import ClusterIdentity, Ownership
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import GroupFacts
from activities.providers.hetzner.api.refusals import NameInUse, NoGroup
from api.keys import LABEL_CLUSTER, LABEL_NODE_CLASS

MOST_MEMBERS: Final = 10
_LISTED_FOR_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 300.0
"""Between two searches for empty groups: they cost nothing, but a project may have fifty only."""
_EMPTY_FOR_SECONDS: Final = 900.0
"""A group that has been empty for so long is deleted: another worker may have made it for a server to come."""
_UNDER_WAY_SECONDS: Final = 120.0
"""A create call takes no longer, its wait for calls and a list that is behind included."""
_NAMES_TRIED: Final = 5
"""Names in a row that are somebody else's: more of them are no accident, and each costs two calls."""
_REFUSED_FOR_SECONDS: Final = 300.0
"""After a refusal no group is asked for: room in the groups that there are is looked for all the same."""


class SpreadGroups:
    """The spread groups of one cluster in one project, of all its node classes and of those that are gone.

    Args:
        client: of the project.
        identity: of the cluster whose groups they are.
        elapsed: seconds since some moment.
        own_servers: returns the ids of servers that are certainly the cluster's.
    """

    def __init__(
        self,
        client: HetznerClient,
        identity: ClusterIdentity,
        elapsed: Callable[[], float],
        own_servers: Callable[[], Collection[int]],
    ) -> None:
        self._client = client
        self._identity = identity
        self._elapsed = elapsed
        self._own_servers = own_servers
        self._one_flight = asyncio.Lock()
        self._groups: dict[int, GroupFacts] = {}
        self._listed_at = float("-inf")
        self._placed: defaultdict[int, list[float]] = defaultdict(list)
        """When servers were put into a group that no list shows in it yet, oldest first."""
        self._full: set[int] = set()
        self._foreign: set[str] = set()
        """Names that groups of somebody else have."""
        self._refusals: dict[str, tuple[float, str]] = {}
        """Until when no group can be made, and why, by node class."""
        self._empty_since: dict[int, float] = {}
        self._looked_at = float("-inf")
        self._may_be_any = True
        """Whether a look for empty groups may find one: unknown before the first list."""

    async def choose(self, class_name: str) -> int:
        """Return the id of a group with room, which is then counted as used; a new group is made if all are full.

        Args:
            class_name: the node class whose group it is.

        Raises:
            NoGroup: all are full, and none can be made; for five minutes the answer is the same without a call.
            ProviderError: the API does not answer.
        """
        # One after the other: those who come together share one list, and fill a group before the next is made.
        async with self._one_flight:
            await self._list()
            group = self._with_room(class_name)
            return await self._make(class_name) if group is None else group

    def give_back(self, group: int, *, is_full: bool = False) -> None:
        """Free the place in a group that a server did not take; `is_full` if Hetzner refused it as full."""
        if self._placed[group]:
            self._placed[group].pop()
        if is_full:
            self._full.add(group)

    async def delete_empty(self) -> None:
        """Delete groups that have been empty for long, of classes that are gone as well.

        It searches once in five minutes; where there are no groups, once at all.

        Raises:
            ProviderError: the API does not answer.
        """
        now = self._elapsed()
        if now - self._looked_at < _LOOK_SECONDS or not self._may_be_any:
            return
        self._looked_at = now
        async with self._one_flight:
            await self._list()
            empty = [group.id for group in self._groups.values() if not self._members(group)]
            self._empty_since = {group: self._empty_since.get(group, now) for group in empty}
        for group in [group for group, since in self._empty_since.items() if now - since >= _EMPTY_FOR_SECONDS]:
            # Not one turn for all: servers to be made wait for one call at most.
            async with self._one_flight:
                if (seen := self._groups.get(group)) is None or self._members(seen):
                    continue
                # Before the call: whatever its answer is, nobody is sent there any more.
                del self._groups[group]
                self._empty_since.pop(group, None)
                await self._client.delete_placement_group(group)
                self._refusals.clear()

    async def _list(self) -> None:
        now = self._elapsed()
        if now - self._listed_at < _LISTED_FOR_SECONDS:
            return
        known_as_full = set(self._full)
        selector = f"{LABEL_CLUSTER}={self._identity.name},{LABEL_NODE_CLASS}"
        named = await self._client.placement_groups(selector)
        listed = [group for group in named if await self._is_own(group)]
        # What was said while the list was made is newer than the list.
        self._full -= known_as_full
        for group in listed:
            before = self._groups.get(group.id)
            arrived = len(set(group.servers) - set(before.servers if before else ()))
            placed = self._placed[group.id][arrived:]
            self._placed[group.id] = [at for at in placed if now - at < _UNDER_WAY_SECONDS]
        self._groups = {group.id: group for group in listed}
        self._placed = defaultdict(list, {group.id: self._placed[group.id] for group in listed})
        self._listed_at = now
        # One that an earlier version made is the cluster's as soon as a server in it is.
        self._may_be_any = any(self._identity.owner(group.labels) is not Ownership.FOREIGN for group in named)

    async def _is_own(self, group: GroupFacts) -> bool:
        """Return whether the group is this cluster's; one that an earlier version made is, if a server in it is.

        It is marked then, so that it is still known when it is empty.
        """
        owner = self._identity.owner(group.labels)
        if owner is not Ownership.UNMARKED:
            return owner is Ownership.OURS
        if not set(group.servers) & set(self._own_servers()):
            return False
        await self._client.label_placement_group(group.id, {**group.labels, **self._identity.labels()})
        return True

    def _with_room(self, class_name: str) -> int | None:
        """Return the fullest group of the class that takes one more."""
        groups = [one for one in self._groups.values() if one.labels.get(LABEL_NODE_CLASS) == class_name]
        for group in sorted(groups, key=lambda one: (-self._members(one), one.id)):
            if group.id not in self._full and self._members(group) < MOST_MEMBERS:
                return self._take(group.id)
        return None

    async def _make(self, class_name: str) -> int:
        """Return a new group; its number is the first that is free, so that two workers do not make two at once."""
        until, why = self._refusals.get(class_name, (0.0, ""))
        if self._elapsed() < until:
            raise NoGroup(why)
        labels = {**self._identity.labels(), LABEL_NODE_CLASS: class_name}
        tried: list[str] = []
        while len(tried) < _NAMES_TRIED:
            tried.append(self._free_name(class_name))
            self._may_be_any = True
            try:
                made = await self._client.create_placement_group(tried[-1], labels)
            except QuotaExceeded as error:
                raise self._refused(class_name, str(error)) from error
            except NameInUse:
                # Another worker was first, and its group will do; or it is a group that is not of this cluster.
                self._listed_at = float("-inf")
                await self._list()
                if (group := self._with_room(class_name)) is not None:
                    return group
                self._foreign |= {tried[-1]} - self._names()
            else:
                self._groups[made.id] = made
                return self._take(made.id)
        raise self._refused(
            class_name,
            f"no placement group can be made for HetznerNodeClass {class_name}: groups named {', '.join(tried)} are in "
            "the project and not of this class: rename them, or delete them if nobody needs them",
        )

    def _free_name(self, class_name: str) -> str:
        used = self._names() | self._foreign
        names = (f"growth-{self._identity.name}-{class_name}-{number}" for number in count(1))
        return next(name for name in names if name not in used)

    def _names(self) -> set[str]:
        return {group.name for group in self._groups.values()}

    def _refused(self, class_name: str, why: str) -> NoGroup:
        self._refusals[class_name] = (self._elapsed() + _REFUSED_FOR_SECONDS, why)
        return NoGroup(why)

    def _members(self, group: GroupFacts) -> int:
        return len(group.servers) + len(self._placed[group.id])

    def _take(self, group: int) -> int:
        self._placed[group].append(self._elapsed())
        self._empty_since.pop(group, None)
        return group
