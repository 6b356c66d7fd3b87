"""The volumes attached to each node, listed once for all removals that look within a moment.

No selector of the API server's finds those of one node. Each list costs by all that are attached in the cluster, so a
thousand machines that leave at once share it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from activities.ports.cluster import VOLUME_ATTACHMENTS, Cluster, Object

SHARED_FOR: Final = timedelta(seconds=2.5)
"""Half of the time between two looks of one removal: a volume that detaches is seen to by its next look but one."""


class Attachments:
    """The last list, by node. Each worker has its own."""

    def __init__(self) -> None:
        self._by_node: Mapping[str, Sequence[Object]] = {}
        self._listed_at: datetime | None = None
        self._one_at_a_time = asyncio.Lock()

    async def on(self, cluster: Cluster, node: str, *, since: datetime, now: datetime) -> Sequence[Object]:
        """Return the VolumeAttachments of the node.

        Args:
            cluster: where they are.
            node: its name.
            since: from when on none is attached any more. That there are none is believed of a later list only.
            now: the time, UTC.

        Raises:
            Forbidden: they may not be listed.
            NotFound: the kind does not exist.
            Unreachable: the API server does not answer.
        """
        async with self._one_at_a_time:
            if not self._answers(node, since, now):
                # From before the call: what is attached while it is under way may be missing.
                self._by_node = _by_node((await cluster.list(VOLUME_ATTACHMENTS)).items)
                self._listed_at = now
            return self._by_node.get(node, ())

    def _answers(self, node: str, since: datetime, now: datetime) -> bool:
        listed_at = self._listed_at
        # A clock that was set back makes a list of its future.
        if listed_at is None or not timedelta() <= now - listed_at < SHARED_FOR:
            return False
        return listed_at >= since or node in self._by_node


def _by_node(attachments: Sequence[Object]) -> Mapping[str, Sequence[Object]]:
    listed: defaultdict[str, list[Object]] = defaultdict(list)
    for attachment in attachments:
        listed[attachment["spec"].get("nodeName", "")].append(attachment)
    return listed
