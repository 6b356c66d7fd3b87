"""What shares of namespaces cost grows as their number does: work is counted, as a clock tells of its machine."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from planner.packing import assemble
from planner.packing.fallback.pack import pack
from planner.packing.problem import Packing, PackingProblem
from planner.placement.shares import fair, namespace_bounds
from planner.plan import plan
from tests.planner.placement.shares.test_turns import waiting
from tests.planner.scenes import Scene, scene

FEW, MANY = 40, 160
LARGER = MANY // FEW


def crowd(namespaces: int, **limits: object) -> Scene:
    """Return three pods of two sizes in each namespace, of which a machine holds two."""
    pods = [pod for n in range(namespaces) for pod in (*waiting(f"n{n:03}", 2, "2"), *waiting(f"n{n:03}", 1, "1500m"))]
    return scene(*pods, types=["cx32"], limits={"max": 10_000, **limits})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is done for each group, machine or pod."""
    counts = Counter[str]()

    def count(module: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(module, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **named)

        monkeypatch.setattr(module, name, counted)

    count(assemble, "fits_kind")
    count(namespace_bounds, "fits_kind")
    count(namespace_bounds, "namespace_of")
    count(fair, "namespace_use")
    return counts


def work(calls: Counter[str], given: Scene) -> Counter[str]:
    calls.clear()
    plan(given.snapshot())
    return Counter(calls)


@pytest.mark.parametrize("bounds", [{"machines": 1}, {"cpu": "2"}, {"machines": 1, "cpu": "4"}])
def test_bounds_that_every_namespace_comes_to_cost_work_in_proportion_to_their_number(
    calls: Counter[str], bounds: dict[str, object]
):
    few, many = (work(calls, crowd(number, perNamespace=bounds)) for number in (FEW, MANY))
    assert few["fits_kind"] > 0
    for name, number in few.items():
        # A quarter more for what falls differently; each namespace looking at each would be sixteen times as many.
        assert many[name] <= 1.25 * LARGER * number, name


def test_a_packer_has_as_many_rows_whatever_the_number_of_namespaces():
    rows: list[int] = []

    def packer(problem: PackingProblem) -> Packing:
        rows.append(len(problem.groups))
        return pack(problem)

    plan(crowd(MANY, perNamespace={"machines": 5}).snapshot(), packer)
    assert rows == [2]


def test_what_namespaces_have_is_counted_once_for_what_they_contend_for(calls: Counter[str]):
    # Two machines for all: whose turn it is is asked before each packing and after it.
    made = work(calls, crowd(FEW, max=2))
    assert made["namespace_use"] == 1
