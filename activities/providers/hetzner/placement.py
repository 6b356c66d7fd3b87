"""Placement groups that spread servers over hosts: ten in each, made when needed and deleted when empty.

Servers that are being deleted still count in their group. Source: Hetzner Cloud documentation, "Placement Groups".
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from activities.providers.hetzner.client import HetznerClient
from activities.providers.hetzner.facts import GroupFacts
from activities.providers.hetzner.refusals import NameInUse
from api.keys import LABEL_CLUSTER, LABEL_NODE_CLASS

MOST_MEMBERS: Final = 10
MOST_GROUPS: Final = 50
"""In a project."""
_LISTED_FOR_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 300.0
"""Between two looks for empty groups: they cost nothing, but a project may have fifty only."""
_EMPTY_FOR_SECONDS: Final = 900.0
"""A group that has been empty for so long is deleted: another worker may have made it for a server to come."""


class PlacementGroups:
    """The spread groups of one node class.

    Args:
        client: of the project.
        cluster_name: whose groups they are.
        class_name: the node class.
        elapsed: seconds since some moment.
    """

    def __init__(self, client: HetznerClient, cluster_name: str, class_name: str, elapsed: Callable[[], float]) -> None:
        self._client = client
        self._labels = {LABEL_CLUSTER: cluster_name, LABEL_NODE_CLASS: class_name}
        self._prefix = f"growth-{cluster_name}-{class_name}"
        self._elapsed = elapsed
        self._groups: dict[int, GroupFacts] = {}
        self._listed_at = float("-inf")
        self._placed: Counter[int] = Counter()
        """Servers put into a group since the list was made."""
        self._full: set[int] = set()
        self._empty_since: dict[int, float] = {}
        self._looked_at = float("-inf")

    async def choose(self) -> int:
        """Return the id of a group with room, which is then counted as used; a new group is made if all are full.

        Raises:
            QuotaExceeded: the project may not have more groups.
            ProviderError: the API does not answer.
        """
        await self._list()
        for group in sorted(self._groups.values(), key=lambda one: (-self._members(one), one.id)):
            if group.id not in self._full and self._members(group) < MOST_MEMBERS:
                return self._take(group.id)
        made = await self._make()
        self._groups[made.id] = made
        return self._take(made.id)

    def give_back(self, group: int, *, is_full: bool = False) -> None:
        """Take that a server did not come into the group, perhaps as it is full."""
        self._placed[group] -= 1
        if is_full:
            self._full.add(group)

    async def delete_empty(self) -> None:
        """Delete groups that have been empty for long.

        Raises:
            ProviderError: the API does not answer.
        """
        now = self._elapsed()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        self._listed_at = float("-inf")
        await self._list()
        empty = {group.id for group in self._groups.values() if not self._members(group)}
        self._empty_since = {group: self._empty_since.get(group, now) for group in empty}
        for group, since in list(self._empty_since.items()):
            if now - since >= _EMPTY_FOR_SECONDS:
                await self._client.delete_placement_group(group)
                del self._groups[group], self._empty_since[group]

    async def _list(self) -> None:
        now = self._elapsed()
        if now - self._listed_at < _LISTED_FOR_SECONDS:
            return
        selector = ",".join(f"{key}={value}" for key, value in self._labels.items())
        found = await self._client.placement_groups(selector)
        self._groups = {group.id: group for group in found}
        self._listed_at = now
        self._placed.clear()
        self._full.clear()

    async def _make(self) -> GroupFacts:
        """Return a new group; its number is the first that is free, so that two workers do not make two at once."""
        names = {group.name for group in self._groups.values()}
        number = next(n for n in range(1, len(names) + 2) if f"{self._prefix}-{n}" not in names)
        try:
            return await self._client.create_placement_group(f"{self._prefix}-{number}", self._labels)
        except NameInUse:
            # Another worker was first: the next call finds its group.
            self._listed_at = float("-inf")
            raise

    def _members(self, group: GroupFacts) -> int:
        return len(group.servers) + self._placed[group.id]

    def _take(self, group: int) -> int:
        self._placed[group] += 1
        self._empty_since.pop(group, None)
        return group
