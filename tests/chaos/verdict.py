"""What must be true in the end, whatever happened: asked of the world, not of the code that is judged."""

import asyncio
from typing import Final

from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from tests.chaos.stage import PATIENCE_SECONDS, Stage, told

LOOK_SECONDS: Final = 0.3
LOOKS: Final = 2
"""In a row that must find the same: a world that is right for a moment may be on its way to something else."""


async def verdict(stage: Stage, *, servers: int, tainted: bool = False, within: float = PATIENCE_SECONDS) -> list[str]:
    """Wait until all is right and return nothing, or return what is still wrong after `within` seconds.

    Args:
        stage: its story is over.
        servers: how many there must be.
        tainted: Growth was taken away in the middle, so its taints may stand.
        within: seconds.
    """
    deadline = asyncio.get_running_loop().time() + within
    good = 0
    while True:
        wrong = await _wrong(stage, servers=servers, tainted=tainted)
        good = 0 if wrong else good + 1
        if good >= LOOKS:
            return []
        if wrong and asyncio.get_running_loop().time() >= deadline:
            return [*wrong, told(await stage.look())]
        await asyncio.sleep(LOOK_SECONDS)


async def _wrong(stage: Stage, *, servers: int, tainted: bool) -> list[str]:
    end = await stage.look()
    wrong = [f"{count} servers were made for request {uid}" for uid, count in stage.created.items() if count > 1]
    wrong += [f"server {name} was made {count} times" for name, count in stage.named.items() if count > 1]
    if len(end.servers) != servers:
        wrong.append(f"{len(end.servers)} servers, {servers} are wanted")
    nodes, machines = set(end.nodes), set(end.servers)
    if nodes != machines:
        wrong.append(f"nodes {sorted(nodes)} do not fit servers {sorted(machines)}")
    wrong += [f"pod {key} has no node" for key in end.pending()]
    if not tainted:
        wrong += [
            f"taint {key} is left on {name}"
            for key in (TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED)
            for name in end.taints(key)
        ]
    wrong += [f"{key} is left in phase {phase}" for key, phase in end.phases().items() if phase != "Ready"]
    if wrong:
        return wrong
    running = await stage.workflows()
    if running != stage.ids(end):
        wrong.append(f"workflows {sorted(running)} do not fit objects {sorted(stage.ids(end))}")
    wrong += [f"workflow {one} failed" for one in await stage.failed()]
    return wrong
