"""Right after a start, a round with demand waits some seconds for the better packer, before it takes the fence.

Machines are bought for good: a plan that is dearer because it came two seconds earlier costs more for as long as they
are there. No longer wait is worth it: a pod without a machine waits, too.
"""

import logging
from contextlib import suppress

from activities.ports.cluster import PODS
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.round.fence import Fence
from planner.lifecycle.json_predicates import is_unschedulable

log = logging.getLogger(__name__)


async def await_packer(ports: Ports, fence: Fence) -> None:
    """Wait while the packer of the ports is being loaded, if any pod asks for a machine."""
    if not await _is_demand_there(ports):
        return
    # Who finds the fence held counts from its first look: the wait for a round that crashed goes on meanwhile.
    await fence.look()
    began = ports.elapsed()
    await ports.packers.until_started()
    log.info("a round with demand waited %.1f s for the optimiser to be loaded", ports.elapsed() - began)


async def _is_demand_there(ports: Ports) -> bool:
    with suppress(GrowthError):
        return any(map(is_unschedulable, (await ports.reader.list(PODS)).items))
    return False
