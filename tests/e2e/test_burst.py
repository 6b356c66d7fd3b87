"""A thousand pods at once on a real control plane: what the plan says is what happens."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.generator import draw
from tests.load.stage import stage
from tests.load.swap import check_end
from tests.load.thousand import PATIENCE, RECIPE, a_round_later, come, cost_per_hour, purchases, rounds

pytestmark = [pytest.mark.e2e, pytest.mark.nightly, pytest.mark.serial, pytest.mark.timeout(600)]


async def as_planned(folder: Path) -> str:
    """Check all that is promised of a burst, and return what came of it in one line."""
    instance = draw(RECIPE)
    async with stage(folder, cluster="burst") as on:
        seen = on.census
        seconds = await come(on, instance, reserve=True)
        await check_end(on.cluster, seen, on.temporal, pods=RECIPE.pods, patience=PATIENCE)
        await a_round_later(on)
        await check_end(on.cluster, seen, on.temporal, pods=RECIPE.pods, patience=PATIENCE)

        elsewhere = {name: node for name, node in seen.bound.items() if seen.first_seats.get(name) != node}
        assert not elsewhere, "each pod runs on the machine that was bought for it"
        assert set(seen.bound.values()) == seen.requests_ever, "nothing else was ever bought"
        bought = purchases(await rounds(on.temporal))
        count, cost = await cost_per_hour(on, instance)
        assert count == sum(each.machines for each in bought)
        assert cost == sum(each.cost_per_hour for each in bought)
        return (
            f"{RECIPE}: {seconds:.0f} s after their pool came, all run as planned, on {count} machines for {cost} "
            f"EUR/h, bought in {len(bought)} rounds"
        )


def test_a_thousand_pods_run_as_planned_for_what_was_planned(tmp_path: Path):
    print(f"\n{asyncio.run(as_planned(tmp_path))}")
