"""What a thousand pods cost where the scheduler puts them on whatever is Ready: a figure, nothing is promised of it."""

import asyncio
from pathlib import Path

import pytest

from benchmarks.generator import draw
from tests.load.stage import stage
from tests.load.thousand import RECIPE, come, cost_per_hour, purchases, rounds

pytestmark = [pytest.mark.load, pytest.mark.timeout(600)]


async def without_reservations(folder: Path) -> str:
    """Return in one line what the same burst comes to where the scheduler puts pods on whatever is Ready."""
    instance = draw(RECIPE)
    async with stage(folder, cluster="unreserved") as on:
        await come(on, instance, reserve=False)
        bought = purchases(await rounds(on.temporal))
        count, cost = await cost_per_hour(on, instance)
        planned = bought[0]
        return (
            f"{RECIPE}, nothing reserved: on {count} machines for {cost} EUR/h, bought in {len(bought)} rounds; the "
            f"first planned {planned.machines} for {planned.cost_per_hour}: {cost / planned.cost_per_hour:.3f} of that"
        )


def test_what_it_costs_without_reservations_is_told(tmp_path: Path):
    print(f"\n{asyncio.run(without_reservations(tmp_path))}")
