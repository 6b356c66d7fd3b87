"""What is learned of a server type and image: the least that a Node had, and nothing that it did not state."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from api.v1alpha1.node_class_status import LearnedAllocatable
from planner.supply.observed.learned import MOST_ENTRIES, RESOURCES, amounts, learned, quantities

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
MIB = 2**20
CPX22 = {"cpu": 2000, "memory": 3814 * MIB, "ephemeral-storage": 70_000_000_000, "pods": 110}
"""Memory measured on a cpx22, which advertises 4096 MiB. Source: karpenter-provider-hetzner, issue 68."""


def known(entries, server_type="cpx22", image="114690387"):
    return [amounts(e.allocatable) for e in entries if (e.server_type, e.image) == (server_type, image)]


def test_the_first_node_is_learned_whatever_it_has():
    (entry,) = learned((), "cpx22", "114690387", CPX22, NOW)
    assert entry.to_json() == {
        "serverType": "cpx22",
        "image": "114690387",
        "allocatable": {
            "cpu": "2000m",
            "memory": str(3814 * MIB),
            "ephemeral-storage": "70000000000",
            "pods": "110",
        },
        "lastSeenAt": "2026-03-01T12:00:00Z",
    }


def test_of_each_resource_the_least_is_kept():
    first = learned((), "cpx22", "114690387", CPX22, NOW)
    second = learned(first, "cpx22", "114690387", CPX22 | {"memory": 3900 * MIB, "cpu": 1900}, LATER)
    assert known(second) == [CPX22 | {"cpu": 1900}]
    assert [e.last_seen_at for e in second] == [LATER]


def test_a_node_with_no_less_than_was_known_changes_nothing():
    first = learned((), "cpx22", "114690387", CPX22, NOW)
    assert learned(first, "cpx22", "114690387", CPX22 | {"memory": 4096 * MIB}, LATER) == first
    assert learned(first, "cpx22", "114690387", {"memory": 3814 * MIB}, LATER) == first


def test_each_type_and_image_is_learned_apart():
    entries = learned((), "cpx22", "114690387", CPX22, NOW)
    entries = learned(entries, "cpx22", "161547269", CPX22 | {"memory": 3700 * MIB}, NOW)
    entries = learned(entries, "cx33", "114690387", CPX22 | {"memory": 7751 * MIB}, NOW)
    assert known(entries) == [CPX22]
    assert known(entries, image="161547269") == [CPX22 | {"memory": 3700 * MIB}]
    assert known(entries, "cx33") == [CPX22 | {"memory": 7751 * MIB}]


def test_extended_resources_and_what_is_not_measured_yet_are_not_learned():
    seen = CPX22 | {"ephemeral-storage": 0, "nvidia.com/gpu": 0, "hugepages-2Mi": 0, "attachable-volumes": 16}
    (found,) = known(learned((), "cpx22", "114690387", seen, NOW))
    assert found == {"cpu": 2000, "memory": 3814 * MIB, "pods": 110}
    assert known(learned(learned((), "cpx22", "114690387", seen, NOW), "cpx22", "114690387", CPX22, NOW)) == [CPX22]


def test_a_node_that_states_nothing_is_no_entry():
    assert learned((), "cpx22", "114690387", {"cpu": 0, "example.com/fpga": 2}, NOW) == ()


def test_of_too_many_entries_the_oldest_goes():
    old = tuple(
        LearnedAllocatable(
            server_type=f"t{number}",
            image="1",
            allocatable={"cpu": "1"},
            last_seen_at=NOW + timedelta(hours=number % 7),
        )
        for number in range(MOST_ENTRIES)
    )
    entries = learned(old, "cpx22", "114690387", CPX22, NOW)
    assert len(entries) == MOST_ENTRIES
    assert known(entries) == [CPX22]
    assert {e.server_type for e in old} - {e.server_type for e in entries} == {"t0"}


VECTORS = st.dictionaries(st.sampled_from(RESOURCES), st.integers(min_value=1, max_value=2**40))


@given(st.lists(VECTORS, min_size=1, max_size=6))
def test_whatever_the_order_the_least_of_each_resource_is_known(nodes):
    entries = ()
    for position, node in enumerate(nodes):
        entries = learned(entries, "cpx22", "114690387", node, NOW + timedelta(seconds=position))
    names = {name for node in nodes for name in node}
    least = {name: min(node[name] for node in nodes if name in node) for name in names}
    assert known(entries) == ([least] if least else [])


@given(VECTORS)
def test_amounts_survive_being_written_down(vector):
    assert amounts(quantities(vector)) == vector
