"""What histories draw of priorities and bounds of namespaces."""

from random import Random

from simulator.campaign.choices import with_choices
from simulator.campaign.setup import draw


def drawn(seed):
    setup = draw(Random(seed), Random(f"drains of {seed}"))
    return setup, with_choices(setup, Random(f"choices of {seed}"))


def pools_of(setup):
    return [item["spec"] for item in setup.objects if item["kind"] == "NodePool"]


def test_most_histories_are_the_ones_they_were():
    changed = sum(before is not after for before, after in map(drawn, range(200)))
    # A fifth has priorities, an eighth has bounds: 200 x (1 - 0.8 x 0.88) = 59, give or take three deviations of 6.
    assert 40 <= changed <= 78


def test_both_choices_and_each_bound_are_drawn():
    specs = [spec for seed in range(200) for spec in pools_of(drawn(seed)[1])]
    assert {spec["scaleUp"].get("choose") for spec in specs} == {None, "price", "priority"}
    bounds = {tuple(sorted(spec["limits"].get("perNamespace", ()))) for spec in specs}
    assert bounds == {(), ("cpu",), ("machines",), ("cpu", "machines")}


def test_people_leave_priorities_and_take_bounds_back():
    for seed in range(50):
        _, setup = drawn(seed)
        for spec in pools_of(setup):
            kept = [pool["spec"] for pool in setup.pools.values()]
            assert [spec["serverTypes"], spec["scaleUp"]] in [[each["serverTypes"], each["scaleUp"]] for each in kept]
        assert not any("perNamespace" in pool["spec"]["limits"] for pool in setup.pools.values())
