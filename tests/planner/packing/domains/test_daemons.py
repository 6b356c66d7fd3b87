"""Pods that look for, or shun, the DaemonSet pods that every new machine comes with.

Source: kube-scheduler's InterPodAffinity; Cluster Autoscaler puts the DaemonSet pods onto its template nodes.
"""

from typing import Any

import pytest

from tests.builders import Json, daemon_set, pod
from tests.planner.packing.domains.rows import at, away, codes, near, places, planned, scene, several, spread, term
from tests.planner.wishes import HOST, ZONE

BESIDE_AGENT = term(HOST, "agent", namespaces=["kube-system"])


def agent(**spec: Any) -> Json:
    return daemon_set("agent", **spec)


def running_agent(node: str) -> Json:
    owner = ("DaemonSet", "uid-agent")
    return pod(f"agent-{node}", "100m", namespace="kube-system", node=node, labels={"app": "agent"}, owner=owner)


def test_who_looks_for_the_agent_of_its_node_gets_a_new_machine():
    made = planned(scene(*several(2, "1", affinity=near(BESIDE_AGENT)), daemon_sets=[agent()]))
    assert [(r.server_type, len(r.seats)) for r in made.requests] == [("cx32", 2)]
    assert made.unplaced == ()


def test_also_where_an_agent_runs_on_a_full_node():
    full = [pod("r", "1900m", node="n"), running_agent("n")]
    wants = several(1, "1", affinity=near(BESIDE_AGENT))
    made = planned(scene(*full, *wants, nodes=[at("n", "nbg1")], daemon_sets=[agent()]))
    assert [len(r.seats) for r in made.requests] == [1]


@pytest.mark.parametrize("key", [HOST, ZONE])
def test_who_shuns_the_agent_gets_no_machine_that_has_one(key: str):
    made = planned(scene(*several(1, affinity=away(BESIDE_AGENT | {"topologyKey": key})), daemon_sets=[agent()]))
    assert codes(made) == {"web-0": "AntiAffinity"}
    assert made.requests == ()


def test_who_shuns_the_agent_gets_a_machine_that_it_does_not_run_on():
    chosen = agent(nodeSelector={"growth.dev/server-type": "cx22"})
    made = planned(scene(*several(1, affinity=away(BESIDE_AGENT)), daemon_sets=[chosen]))
    assert [r.server_type for r in made.requests] == ["cx32"]


def test_whom_the_agent_shuns_gets_no_machine_that_has_one():
    made = planned(scene(*several(1), daemon_sets=[agent(affinity=away(term(HOST, "web", namespaces=["default"])))]))
    assert codes(made) == {"web-0": "AntiAffinity"}


def test_an_agent_that_is_still_missing_on_a_node_is_looked_for_there():
    made = planned(scene(*several(1, affinity=near(BESIDE_AGENT)), nodes=[at("n", "nbg1")], daemon_sets=[agent()]))
    assert places(made) == {"web-0": "n"}


def test_agents_count_in_a_spread_that_selects_them():
    # A new machine has its agent from the start: with one more pod the skew to the empty node would be 2.
    lone = agent(nodeSelector={"growth.dev/server-type": "cx32"})
    counted = spread(HOST, app="agent")
    asks = several(1, "3", topologySpreadConstraints=[counted])
    for one in asks:
        one["metadata"] |= {"namespace": "kube-system", "labels": {"app": "agent"}}
    given = scene(pod("r", "2", node="n"), *asks, nodes=[at("n", "nbg1")], daemon_sets=[lone])
    made = planned(given)
    assert made.requests == ()
    assert len(made.unplaced) == 1
