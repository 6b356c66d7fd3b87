"""PodDisruptionBudgets in the snapshot of a round, and a cluster that does not let them be read."""

from dataclasses import replace

import pytest

from activities.ports.cluster import DISRUPTION_BUDGETS
from activities.round.observe import Observer
from tests.activities.round.observing import Cache, Without, see
from tests.builders import disruption_budget


async def test_a_snapshot_holds_disruption_budgets_with_their_counts(world):
    body = disruption_budget("web", namespace="shop", minAvailable=1)
    made = await world.cluster.create(DISRUPTION_BUDGETS, body, namespace="shop")
    assert made["metadata"]["generation"] == 1
    observer = Observer(world.ports)
    [budget] = (await see(world, observer=observer)).snapshot.disruption_budgets
    assert (budget.namespace, budget.name, budget.is_counted, budget.allowed) == ("shop", "web", False, 0)
    status = {"observedGeneration": 1, "disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1}
    change = [{"op": "add", "path": "/status", "value": status}]
    await world.cluster.patch(DISRUPTION_BUDGETS, "web", change, namespace="shop", subresource="status")
    [budget] = (await see(world, observer=observer)).snapshot.disruption_budgets
    assert (budget.is_counted, budget.allowed, budget.healthy, budget.needed) == (True, 2, 3, 1)


@pytest.mark.parametrize("versions", [{}, {"poddisruptionbudgets": "1"}], ids=["never", "no longer"])
async def test_without_the_right_to_read_budgets_a_round_goes_on_and_knows_of_none(world, versions):
    await world.add_pods(2)
    assert (await see(world)).snapshot.disruption_budgets == ()
    world.ports = replace(world.ports, cluster=Without(DISRUPTION_BUDGETS, world.cluster), reader=Cache(world.cluster))
    seen = await see(world, versions)
    assert (seen.snapshot.disruption_budgets, len(seen.snapshot.pods)) == (None, 2)
    # Where the right comes back, what was known of the list's version still holds.
    assert "poddisruptionbudgets" not in seen.versions
