"""What only a real API server does: validation, authorisation, namespaces that must exist."""

import pytest

from activities.kube.client import KubeCluster
from activities.ports.cluster import CONFIG_MAPS, NODES, PODS
from activities.ports.errors import NotFound, Rejected
from tests.activities.conformance.world import WIDGETS

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.e2e,
    pytest.mark.parametrize("empty", ["kube"], indirect=True),
]


async def test_an_unknown_field_is_an_error_and_not_dropped(widgets):
    body = {**widgets.widget(), "spec": {"size": 1, "colour": "red"}}
    with pytest.raises(Rejected, match="colour"):
        await widgets.cluster.create(WIDGETS, body)
    await widgets.cluster.create(WIDGETS, widgets.widget())
    with pytest.raises(Rejected, match="colour"):
        await widgets.cluster.patch(WIDGETS, widgets.name(), [{"op": "add", "path": "/spec/colour", "value": "red"}])


async def test_a_result_outside_the_schema_is_refused(widgets):
    await widgets.cluster.create(WIDGETS, widgets.widget())
    with pytest.raises(Rejected, match=r"spec\.size"):
        await widgets.cluster.patch(WIDGETS, widgets.name(), [{"op": "add", "path": "/spec/size", "value": "large"}])


async def test_a_namespace_must_exist(widgets):
    with pytest.raises(NotFound, match="nowhere"):
        await widgets.cluster.create(CONFIG_MAPS, widgets.config_map(), namespace="nowhere")


async def test_what_is_forbidden_is_refused_with_the_right_that_is_missing(widgets):
    cluster = await KubeCluster.connect(str(widgets.control_plane.kubeconfig_for("nobody")))
    with pytest.raises(Rejected, match=r'User "nobody" cannot list resource "nodes".*RBAC'):
        await cluster.list(NODES)
    with pytest.raises(Rejected):
        await cluster.patch(PODS, "a", [], namespace=widgets.namespace)
    with pytest.raises(Rejected):
        await anext(cluster.watch(NODES, resource_version="1"))
    await cluster.close()
