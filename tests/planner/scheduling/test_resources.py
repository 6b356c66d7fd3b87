import pytest

from planner.objects.kinds import HostPort, Node
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import sites_of
from tests.planner.scheduling.scenes import AMPLE, fitting, pod, site, verdicts


def test_a_pod_fits_to_the_last_bit_and_not_beyond():
    there = pod("there", requests={"cpu": 300, "memory": 5, "pods": 1})
    one = pod(requests={"cpu": 200, "memory": 7, "pods": 1})
    exact = {"cpu": 500, "memory": 12, "pods": 2}
    sites = [site(name, there, allocatable=exact | {name: exact[name] - 1}) for name in exact]
    assert fitting(one, site("exact", there, allocatable=exact), *sites) == {"exact"}


def test_the_resource_is_named_with_its_amounts():
    one = pod(requests={"cpu": 500, "example.com/gpu": 2, "pods": 1})
    sites = (
        site("cpu", allocatable={"cpu": 200, "example.com/gpu": 2, "pods": 1}),
        site("gpu"),
        site("pods", allocatable={"cpu": 500, "example.com/gpu": 2}),
    )
    assert verdicts(one, *sites) == {
        "cpu": "Insufficient cpu: 0.5 requested, 0.2 free",
        "gpu": "Insufficient example.com/gpu: 2 requested, 0 free",
        "pods": "Too many pods: the node takes 0",
    }


def test_a_node_that_is_too_full_takes_a_pod_that_asks_nothing_of_what_is_short():
    full = pod("full", requests={"memory": 20 << 30, "pods": 1})
    assert fitting(pod(requests={"cpu": 100, "pods": 1}), site("n", full)) == {"n"}


def test_terminating_pods_take_room_and_finished_ones_none():
    node = Node(name="n", uid="n", allocatable={"cpu": 1000, "pods": 9})
    took = {"cpu": 600, "pods": 1}
    new = pod(requests=took)
    for fields, fits in (
        ({"is_terminating": True}, False),
        ({"phase": "Succeeded"}, True),
        ({"phase": "Failed"}, True),
    ):
        sites = sites_of([node], [pod("old", node_name="n", requests=took, **fields)])
        assert (Judge(sites).verdict(new, sites[0]) is None) is fits


@pytest.mark.parametrize(
    ("wanted", "taken", "fits"),
    [
        (HostPort(80), HostPort(80), False),
        (HostPort(80), HostPort(81), True),
        (HostPort(80, "UDP"), HostPort(80, "TCP"), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), True),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), False),
        (HostPort(80, ip="0.0.0.0"), HostPort(80, ip="10.0.0.1"), False),
        (HostPort(80, ip="10.0.0.1"), HostPort(80), False),
        (HostPort(80, ip="::"), HostPort(80, ip="10.0.0.1"), True),
        (HostPort(80, ip="::"), HostPort(80, ip="0.0.0.0"), False),
    ],
)
def test_host_ports_meet_by_port_protocol_and_address(wanted, taken, fits):
    there = pod("there", host_ports=(taken,))
    assert bool(fitting(pod(host_ports=(wanted,)), site("n", there))) is fits


def test_a_pod_s_own_ports_do_not_stand_against_each_other():
    assert fitting(pod(host_ports=(HostPort(80), HostPort(80, ip="10.0.0.1"))), site("n")) == {"n"}


def test_a_seated_pod_counts_from_then_on():
    sites = (site("n", allocatable=AMPLE | {"pods": 1}),)
    judge = Judge(sites)
    assert judge.verdict(pod("one"), sites[0]) is None
    judge.seat(pod("one"), sites[0])
    assert judge.verdict(pod("two"), sites[0]) == "Too many pods: the node takes 1"
