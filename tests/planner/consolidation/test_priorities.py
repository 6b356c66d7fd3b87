"""What was bought for its priority is not given up for its price, and what is cheaper within one priority is."""

import pytest

from tests.builders import node, node_pool
from tests.planner.consolidation.quiet_scenes import CONSOLIDATES, going, planned, pod, quiet
from tests.planner.scenes import scene


def one_pod_on(server_type, *types, cpu="500m", **spec):
    pool = node_pool("default", [dict(each) for each in types], scaleDown=CONSOLIDATES, **spec)
    return planned(quiet(scene(node("a", server_type), pods=[pod("x", cpu=cpu, node="a")], pools=[pool])))


DEAR, CHEAP = {"name": "cx42", "priority": 10}, {"name": "cx22"}


def test_no_machine_of_a_lower_priority_is_bought_to_save():
    # Source: kubernetes-sigs/karpenter#1829 and reports like it: pools with weights are left and come back to.
    assert going(one_pod_on("cx42", DEAR, CHEAP, scaleUp={"choose": "priority"})) == []


def test_the_same_without_the_choice_makes_way_for_the_cheaper_one():
    assert going(one_pod_on("cx42", DEAR, CHEAP)) == [("a", "Consolidation")]


def test_a_cheaper_machine_of_the_same_priority_is_bought():
    made = one_pod_on("cx42", DEAR, {"name": "cx22", "priority": 10}, scaleUp={"choose": "priority"})
    assert [request.server_type for request in made.requests] == ["cx22"]


def test_a_cheaper_machine_of_a_higher_priority_is_bought():
    made = one_pod_on("cx42", {"name": "cx42"}, {"name": "cx22", "priority": 10}, scaleUp={"choose": "priority"})
    assert [request.server_type for request in made.requests] == ["cx22"]


def test_a_machine_of_a_lower_priority_does_not_make_way_for_a_dearer_one():
    # So nothing goes back and forth.
    assert going(one_pod_on("cx22", DEAR, CHEAP, scaleUp={"choose": "priority"})) == []


@pytest.mark.parametrize(("priority", "expected"), [(None, [("a", "Consolidation")]), (5, [])])
def test_pods_do_not_cross_to_a_pool_of_a_lower_priority(priority, expected):
    spec = {} if priority is None else {"priority": priority}
    pools = [
        node_pool("default", ["cx42"], scaleDown=CONSOLIDATES, **spec),
        node_pool("other", ["cx22"], matchUnselectedPods=True),
    ]
    given = quiet(scene(node("a", "cx42"), pods=[pod("x", node="a")], pools=pools))
    assert going(planned(given)) == expected
