"""An instance as Kubernetes objects: what the planner reads from them is the instance."""

from dataclasses import replace

import pytest

from benchmarks.catalogue import machines
from benchmarks.generator import Recipe, draw
from benchmarks.instance import Instance, InstanceShape, problem_of_instance
from benchmarks.objects import snapshot_of, unjudged_pods
from planner.plan import plan
from simulator.peers.cluster_autoscaler import cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import problem_of
from tests.benchmarks.problems import KNOWN, per_month

MEBIBYTE = 1 << 20
UNITS = {"cpu": 1, "memory": MEBIBYTE, "ephemeral-storage": MEBIBYTE, "pods": 1}
"""Of objects, in those of an instance."""


def described(problem, units):
    """Return pods and machines in a form that does not depend on the order and units of resources."""
    groups = [
        (
            *(problem.demand(i, name) // unit for name, unit in units.items()),
            group.count,
            group.per_node,
            group.apart,
            group.bins,
        )
        for i, group in enumerate(problem.packing.groups)
    ]
    kinds = [
        (
            problem.offerings[b].split()[0],
            *(problem.capacity(b, name) // unit for name, unit in units.items()),
            one.price,
        )
        for b, one in enumerate(problem.packing.bins)
    ]
    return groups, kinds


def portless(instance: Instance) -> Instance:
    """Return the instance without host ports, which are a resource as drawn and an exclusion as planned."""
    shapes = (replace(s, port=None) for s in instance.shapes)
    return replace(instance, shapes=tuple(shapes))


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(draw(KNOWN["1,000 x 50"]), id="plain"),
        pytest.param(portless(draw(KNOWN["100 x 50 mix"])), id="small mix"),
        pytest.param(portless(draw(KNOWN["1,000 x 500 mix"])), id="large mix"),
    ],
)
def test_the_planner_reads_the_very_numbers_from_objects(instance):
    assert unjudged_pods(instance) == 0
    as_drawn = described(problem_of_instance(instance), dict.fromkeys(UNITS, 1))
    assert described(problem_of(snapshot_of(instance)), UNITS) == as_drawn


def test_rules_and_planner_answer_objects_as_they_answer_numbers():
    snapshot = snapshot_of(draw(KNOWN["1,000 x 50"]))
    problem = problem_of(snapshot)
    # Source: check values of the study's instances, EUR per month.
    assert per_month(karpenter(problem)) == "2088.13"
    assert per_month(karpenter(problem, preferred=("cx", "cax"))) == "1007.86"
    assert per_month(cluster_autoscaler(problem, expander="price")) == "964.76"
    assert per_month(cluster_autoscaler(problem, expander="least-waste")) == "1416.24"
    made = plan(snapshot)
    assert not made.unplaced
    assert made.lower_bound_per_hour <= made.cost_per_hour < karpenter(problem, preferred=("cx", "cax")).cost_per_hour


def test_scarce_types_have_a_maximum_in_the_pool():
    instance = draw(Recipe(pods=100, shapes=9, limits=True))
    found = {one.name: one.max for one in snapshot_of(instance).pools[0].spec.server_types}
    assert {name for name, most in found.items() if most == 1} == {"cx22", "cx32", "cax11", "cax21", "cax31", "cax41"}
    assert len(plan(snapshot_of(instance)).requests) > 0


def test_zones_of_kindsare_their_locations():
    shape = InstanceShape(count=2, cpu=100, memory=100, disk=0, zone="nbg1")
    problem = problem_of(snapshot_of(Instance((shape,), machines(zonal=True))))
    assert {name.split()[1] for name in problem.offerings} == {"nbg1"}
    assert len(problem.offerings) == 19


def test_every_constraint_of_the_study_is_judged():
    shape = InstanceShape(count=5, cpu=100, memory=100, disk=0)
    shapes = (shape, replace(shape, count=3, per_node=1), replace(shape, count=2, is_spread=True))
    instance = Instance(shapes, machines(zonal=True))
    made = plan(snapshot_of(instance))
    assert unjudged_pods(instance) == 0
    assert made.unplaced == ()
    # One machine for each of three that keep apart; the two that are spread need two zones.
    assert len(made.requests) == 3
    assert len({request.location for request in made.requests}) > 1


def test_caps_of_two_and_host_ports_are_in_the_objects():
    snapshot = snapshot_of(draw(KNOWN["100 x 50 mix"]))
    assert (len(snapshot.pods), snapshot.problems) == (100, ())
    assert {path for pod in snapshot.pods for path in pod.unjudged} == set()
    assert {port.port for pod in snapshot.pods for port in pod.host_ports} <= {8000, 8001, 8002, 8003}
    assert {one.max_skew for pod in snapshot.pods for one in pod.spread} == {2}
