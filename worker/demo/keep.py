"""What `growth demo --keep` leaves for a person to try: a cool-off to cancel, and a parked removal."""

from typing import Final

from activities.ports.cluster import NODE_POOLS
from api.keys import TAINT_SCALE_DOWN
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.view import View
from simulator.world import World
from worker.demo.scene import STUBBORN, STUBBORN_PODS, stubborn_faults
from worker.demo.screen import Screen
from worker.demo.watch import Watch, own_pods, running

COOL_OFF: Final = "1h"
"""Long enough to look around."""


async def encore(world: World, watch: Watch, screen: Screen) -> None:
    """Let a stubborn machine come, park on its way out, and let the others cool off for an hour.

    Raises:
        StageFailed: it was not seen in time.
    """
    screen.stage("For you to try: a server refuses to die again, and machines cool off for an hour")
    faults = [{"op": "add", "path": "/spec/faults", "value": stubborn_faults()}]
    await world.cluster.patch(world.node_classes, "default", faults)
    before = len(running(await watch.until(lambda _: True, "the pods")))
    world.workloads.scale(STUBBORN, STUBBORN_PODS)
    world.wake()
    await watch.until(lambda v: len(running(v)) == before + STUBBORN_PODS, f"{STUBBORN_PODS} pods of {STUBBORN}")
    world.workloads.scale(STUBBORN, 0)
    world.wake()
    await watch.until(lambda v: RemovalPhase.COULD_NOT_REMOVE in _phases(v), "a parked removal")
    longer = [{"op": "add", "path": "/spec/scaleDown/softGrace", "value": COOL_OFF}]
    await world.cluster.patch(NODE_POOLS, "default", longer)
    world.workloads.scale_all(0)
    world.wake()
    view = await watch.until(
        lambda v: not own_pods(v) and RemovalPhase.PENDING in _phases(v) and bool(v.taints(TAINT_SCALE_DOWN)),
        "a machine that cools off",
    )
    screen.machines(view)


def _phases(view: View) -> set[str]:
    return {view.removal_phase(name) for name in view.removals}
