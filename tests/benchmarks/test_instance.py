"""The numbers of an instance."""

from dataclasses import replace

from benchmarks.catalogue import machines
from benchmarks.instance import Instance, InstanceShape, problem_of_instance

WEB = InstanceShape(count=4, cpu=1000, memory=1024, disk=0)


def kinds(problem, group):
    return {problem.offerings[b].rstrip("0123456789") for b in problem.packing.groups[group].bins}


def test_groups_are_shapes_in_their_order():
    shapes = (WEB, replace(WEB, count=2, port=3, per_node=2, apart=frozenset({0})))
    problem = problem_of_instance(Instance((replace(WEB, apart=frozenset({1})), shapes[1]), machines()))
    first, second = problem.packing.groups
    assert (first.demand, first.count, first.per_node, first.apart) == ((1000, 1024, 0, 1, 0, 0, 0, 0), 4, None, {1})
    assert (second.demand, second.count, second.per_node, second.apart) == ((1000, 1024, 0, 1, 0, 0, 0, 1), 2, 2, {0})
    assert problem.resources == ("cpu", "memory", "ephemeral-storage", "pods", "port-0", "port-1", "port-2", "port-3")


def test_a_pod_may_use_what_its_architecture_and_family_allow_and_what_is_large_enough():
    shapes = (
        WEB,
        replace(WEB, architecture="amd64"),
        replace(WEB, architecture="arm64"),
        replace(WEB, architecture="amd64", is_dedicated=True),
        replace(WEB, cpu=40_000),
    )
    problem = problem_of_instance(Instance(shapes, machines()))
    assert kinds(problem, 0) == {"cx", "cpx", "cax", "ccx"}
    assert kinds(problem, 1) == {"cx", "cpx", "ccx"}
    assert kinds(problem, 2) == {"cax"}
    assert kinds(problem, 3) == {"ccx"}
    assert {problem.offerings[b] for b in problem.packing.groups[4].bins} == {"ccx63"}


def test_spread_pods_are_pinned_to_zones_in_even_shares_and_keep_apart_as_before():
    shapes = (replace(WEB, is_spread=True, apart=frozenset({1})), replace(WEB, apart=frozenset({0}), zone="hel1"))
    problem = problem_of_instance(Instance(shapes, machines(zonal=True)))
    groups = problem.packing.groups
    assert [group.count for group in groups] == [2, 1, 1, 4]
    zones = [{problem.offerings[b].split()[1] for b in group.bins} for group in groups]
    assert zones == [{"fsn1"}, {"nbg1"}, {"hel1"}, {"hel1"}]
    assert [group.apart for group in groups] == [{3}, {3}, {3}, {0, 1, 2}]


def test_a_limit_holds_for_a_scarce_type_in_all_zones():
    packing = problem_of_instance(Instance((WEB,), machines(zonal=True), limit=7)).packing
    assert packing.limits == (7,) * 6
    limited = [bin_.limits for bin_ in packing.bins]
    # cx22 in three zones shares a limit, cx42 has none.
    assert limited[0] == limited[1] == limited[2] != ()
    assert limited[6] == ()
    assert sum(limits != () for limits in limited) == 18
