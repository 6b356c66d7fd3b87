"""Removals in a project that two clusters of one name share: which server of the name is this removal's."""

from dataclasses import replace

import pytest

from activities.ports.cluster import NODES
from planner.lifecycle.seen import ServerSeen
from planner.lifecycle.step import Act
from simulator.apiserver.cluster import MemoryCluster
from tests.activities import bodies
from tests.activities.lives import NAME, Life
from tests.tables import rows

MADE_FOR = "u-1"
OWN = f"kwok://test/{NAME}"
DELETE = Act(effect="delete_server", reason="DeleteServer")
LABELLED = {"growth.dev/request-uid": MADE_FOR}


@pytest.fixture
async def life():
    made = Life()
    made.ports = replace(made.ports, cluster_uid="ours")
    made.restart()
    await made.install()
    return made


async def removal_of(life, *, cluster_uid, labels=None, node=None, **spec):
    marks = LABELLED | ({"growth.dev/cluster-uid": cluster_uid} if cluster_uid else {})
    await life.add_removal({"phase": "Deprovisioning"}, labels=labels, **spec)
    life.add_server(**marks)
    if node is not None:
        body = bodies.node(NAME, "default", "cx32", "4", "8Gi", labels=node)
        await MemoryCluster.create(life.cluster, NODES, body)
    return (await life.look_removal()).server


@rows(
    ("labels", "spec"),
    {
        "by a round": (LABELLED, {"nodeName": NAME, "providerID": OWN}),
        "by hand": (None, {}),
        "of an orphan": (LABELLED, {"providerID": OWN, "reason": "Orphan"}),
    },
)
async def test_a_server_with_another_uid_is_another_clusters_whatever_the_removal_says(life, labels, spec):
    assert await removal_of(life, cluster_uid="theirs", labels=labels, node=LABELLED, **spec) is ServerSeen.FOREIGN
    await life.do("delete_server", DELETE)
    assert NAME in life.cloud.servers, "whatever step is asked for"


async def test_a_server_with_our_uid_goes_by_hand_too(life):
    assert await removal_of(life, cluster_uid="ours") is ServerSeen.RUNNING


@rows(
    ("labels", "is_ours"),
    {
        "its request's second server": (LABELLED, True),
        "another request's server": ({"growth.dev/request-uid": "u-2"}, False),
        "by hand, for the first": (None, False),
    },
)
async def test_a_create_call_that_came_late_made_a_second_server_with_another_id(life, labels, is_ours):
    seen = await removal_of(life, cluster_uid="ours", labels=labels, providerID="kwok://test/gone-before")
    assert (seen is not ServerSeen.FOREIGN) is is_ours


@rows(
    ("labels", "node", "spec", "is_ours"),
    {
        "made from a request or Node here": (LABELLED, None, {}, True),
        "names the server's own id": (None, None, {"providerID": OWN}, True),
        "by hand, and its Node is here": (None, LABELLED, {}, True),
        "by hand, by the name alone": (None, None, {}, False),
        "by hand, and the Node is another machine's": (None, {"growth.dev/request-uid": "u-2"}, {}, False),
        "an orphan's of an earlier version": (LABELLED, None, {"providerID": OWN, "reason": "Orphan"}, False),
        "an orphan's whose Node is here": (LABELLED, LABELLED, {"providerID": OWN, "reason": "Orphan"}, True),
    },
)
async def test_a_server_of_an_earlier_version_goes_if_something_here_proves_it(life, labels, node, spec, is_ours):
    seen = await removal_of(life, cluster_uid=None, labels=labels, node=node, **spec)
    assert (seen is not ServerSeen.FOREIGN) is is_ours
