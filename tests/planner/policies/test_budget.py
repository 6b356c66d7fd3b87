"""What a minimum keeps, and why: one counter goes down with everything that goes. Source: docs/design.md#departures."""

import pytest

from planner.policies.checks import Budget
from planner.policies.departures import candidates
from planner.supply.machines import machines_of
from tests.builders import node, node_pool, node_request
from tests.planner.scenes import scene


def budgeted(nodes, *, requests=(), types=("cx22", "cx32"), least=1):
    made = node_pool(types=types, limits={"max": 10, "min": least})
    snapshot = scene(pools=[made], nodes=nodes, requests=list(requests)).snapshot()
    there = machines_of(snapshot)
    return Budget(there.values()), {c.machine.name: c for c in candidates(snapshot.pools, there.values())}


def test_it_counts_down_to_the_minimum_and_says_which_one():
    budget, found = budgeted([node("a"), node("b")])
    assert budget.refuses(found["a"]) is None
    budget.spend(found["a"])
    assert budget.refuses(found["b"]) == "kept by a minimum: pool default keeps 1 machines, 0 of type cx22"


def test_a_type_has_a_minimum_of_its_own():
    types = ({"name": "cx22", "min": 1}, "cx32")
    budget, found = budgeted([node("a"), node("b", "cx32")], types=types, least=0)
    assert budget.refuses(found["a"]) == "kept by a minimum: pool default keeps 0 machines, 1 of type cx22"
    assert budget.refuses(found["b"]) is None


@pytest.mark.parametrize(
    ("other", "goes"),
    [
        ({"nodes": [node("a", ready=True)]}, ("ready", "sick", "coming")),
        ({"nodes": [node("a", ready=False)]}, ("sick", "coming")),
        ({"nodes": [], "requests": [node_request("a")]}, ("coming",)),
        ({"nodes": [node("a", deleting=True)]}, ()),
    ],
    ids=["ready", "not ready", "coming", "terminating"],
)
def test_a_minimum_is_kept_by_machines_that_are_as_far(other, goes):
    subjects = {
        "ready": {"nodes": [node("x")]},
        "sick": {"nodes": [node("x", ready=False)]},
        "coming": {"requests": [node_request("x")]},
    }
    for name, subject in subjects.items():
        parts = {kind: [*other.get(kind, []), *subject.get(kind, [])] for kind in ("nodes", "requests")}
        budget, found = budgeted(parts["nodes"], requests=parts["requests"])
        assert (budget.refuses(found["x"]) is None) == (name in goes), name
