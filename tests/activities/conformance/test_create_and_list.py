"""What callers rely on when they create, read and list, in memory and on a real API server."""

import asyncio

import pytest

from activities.ports.cluster import CONFIG_MAPS, DAEMON_SETS, NAMESPACES, NODES, PODS
from activities.ports.errors import AlreadyExists, NotFound, Rejected
from tests.activities.conformance.world import WIDGETS

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_create_returns_what_get_returns(world):
    created = await world.cluster.create(CONFIG_MAPS, world.config_map(labels={"x": "1"}), namespace=world.namespace)
    assert (created["kind"], created["apiVersion"], created["data"]) == ("ConfigMap", "v1", {"key": "1"})
    metadata = created["metadata"]
    assert (metadata["name"], metadata["namespace"], metadata["labels"]) == ("a", world.namespace, {"x": "1"})
    assert metadata["uid"]
    assert metadata["creationTimestamp"].endswith("Z")
    assert int(metadata["resourceVersion"]) > 0
    assert await world.cluster.get(CONFIG_MAPS, "a", namespace=world.namespace) == created


async def test_a_name_is_taken_once(world):
    await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)
    with pytest.raises(AlreadyExists):
        await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)


async def test_a_name_that_is_free_again_gets_another_uid(world):
    first = await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)
    await world.cluster.delete(CONFIG_MAPS, "a", namespace=world.namespace)
    second = await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)
    assert first["metadata"]["uid"] != second["metadata"]["uid"]


async def test_generated_names_begin_as_asked_and_differ(world):
    body = {"metadata": {"generateName": "some-"}}
    names = [
        (await world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace))["metadata"]["name"] for _ in range(3)
    ]
    assert all(name.startswith("some-") and len(name) == len("some-") + 5 for name in names)
    assert len(set(names)) == 3


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({}, id="no name"),
        pytest.param({"name": "Upper"}, id="upper case"),
        pytest.param({"name": "under_score"}, id="underscore"),
        pytest.param({"name": "a" * 254}, id="too long"),
        pytest.param({"name": "-a"}, id="dash first"),
        pytest.param({"name": "a", "namespace": "other"}, id="another namespace"),
        pytest.param({"name": "a", "resourceVersion": "5"}, id="resourceVersion"),
    ],
)
async def test_bad_metadata_of_a_new_object_is_refused(world, metadata):
    with pytest.raises(Rejected):
        await world.cluster.create(CONFIG_MAPS, {"metadata": metadata}, namespace=world.namespace)


async def test_an_object_of_another_kind_is_refused(world):
    with pytest.raises(Rejected):
        await world.cluster.create(CONFIG_MAPS, {**world.config_map(), "kind": "Secret"}, namespace=world.namespace)


async def test_a_namespaced_object_without_namespace_is_refused(world):
    with pytest.raises(Rejected):
        await world.cluster.create(CONFIG_MAPS, world.config_map())


async def test_the_namespace_in_the_object_is_enough(world):
    body = world.config_map(namespace=world.namespace)
    created = await world.cluster.create(CONFIG_MAPS, body)
    assert created["metadata"]["namespace"] == world.namespace


async def test_metadata_that_the_server_sets_is_not_taken_from_the_creator(widgets):
    sent = {
        "uid": "mine",
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "deletionTimestamp": "2020-01-01T00:00:00Z",
        "generation": 7,
    }
    metadata = (await widgets.cluster.create(WIDGETS, widgets.widget(**sent)))["metadata"]
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2020")
    assert "deletionTimestamp" not in metadata
    assert metadata["generation"] == 1


async def test_empty_lists_and_maps_of_metadata_are_not_kept(widgets):
    empty = {"finalizers": [], "annotations": {}, "ownerReferences": []}
    created = await widgets.cluster.create(WIDGETS, widgets.widget(**empty))
    stored = await widgets.cluster.get(WIDGETS, widgets.name())
    for key in empty:
        assert key not in created["metadata"]
        assert key not in stored["metadata"]


async def test_which_kinds_count_generations(widgets):
    cluster, namespace = widgets.cluster, widgets.namespace
    template = {"metadata": {"labels": {"a": "b"}}, "spec": widgets.pod()["spec"]}
    daemon_set = {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    made = {
        "pod": await cluster.create(PODS, widgets.pod(), namespace=namespace),
        "config map": await cluster.create(CONFIG_MAPS, widgets.config_map(), namespace=namespace),
        "node": await cluster.create(NODES, widgets.node()),
        "daemon set": await cluster.create(DAEMON_SETS, daemon_set, namespace=namespace),
        "widget": await cluster.create(WIDGETS, widgets.widget()),
    }
    assert {name: item["metadata"].get("generation") for name, item in made.items()} == {
        "pod": 1,
        "config map": None,
        "node": None,
        "daemon set": 1,
        "widget": 1,
    }


async def test_the_status_of_a_new_custom_object_is_dropped(widgets):
    created = await widgets.cluster.create(WIDGETS, {**widgets.widget(), "status": {"phase": "Ready"}})
    assert "status" not in created
    assert "status" not in await widgets.cluster.get(WIDGETS, widgets.name())


async def test_a_new_pod_is_pending_whatever_its_creator_says(world):
    body = {**world.pod(), "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    created = await world.cluster.create(PODS, body, namespace=world.namespace)
    assert created["status"]["phase"] == "Pending"
    assert "conditions" not in created["status"]


async def test_a_new_node_keeps_the_status_that_its_creator_reports(world):
    body = {**world.node(), "status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3900m"}}}
    created = await world.cluster.create(NODES, body)
    assert created["status"]["capacity"] == {"cpu": "4"}
    assert created["status"]["allocatable"] == {"cpu": "3900m"}


async def test_get_of_a_missing_object(world):
    with pytest.raises(NotFound):
        await world.cluster.get(CONFIG_MAPS, "a", namespace=world.namespace)


async def test_list_is_ordered_and_items_carry_their_kind(world):
    for name in ("b", "c", "a"):
        await world.cluster.create(CONFIG_MAPS, world.config_map(name, labels={"mine": ""}), namespace=world.namespace)
    listed = await world.cluster.list(CONFIG_MAPS, namespace=world.namespace, labels="mine")
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "b", "c"]
    assert {(item["kind"], item["apiVersion"]) for item in listed.items} == {("ConfigMap", "v1")}
    assert listed.items[0] == await world.cluster.get(CONFIG_MAPS, "a", namespace=world.namespace)


async def test_list_over_all_namespaces_and_of_one(world):
    other = f"{world.namespace}-2"
    await world.cluster.create(NAMESPACES, {"metadata": {"name": other}})
    for namespace in (world.namespace, other):
        body = world.config_map(labels={"test": world.namespace})
        await world.cluster.create(CONFIG_MAPS, body, namespace=namespace)
    # In the order of the store's keys "namespace/name", in which "-" comes before "/".
    everywhere = await world.cluster.list(CONFIG_MAPS, labels=world.selector)
    assert [item["metadata"]["namespace"] for item in everywhere.items] == [other, world.namespace]
    of_other = await world.cluster.list(CONFIG_MAPS, namespace=other, labels=world.selector)
    assert [item["metadata"]["namespace"] for item in of_other.items] == [other]


async def test_the_version_of_a_list_covers_its_items(world):
    await world.cluster.create(CONFIG_MAPS, world.config_map(), namespace=world.namespace)
    listed = await world.cluster.list(CONFIG_MAPS, namespace=world.namespace)
    newest = max(int(item["metadata"]["resourceVersion"]) for item in listed.items)
    assert int(listed.resource_version) >= newest


async def test_a_list_of_more_than_a_page_is_whole_and_of_one_version(world):
    names = [f"{number:04}" for number in range(1001)]
    for start in range(0, len(names), 50):
        bodies = [world.config_map(name, labels={"mine": ""}) for name in names[start : start + 50]]
        await asyncio.gather(*(world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace) for body in bodies))
    listed = await world.cluster.list(CONFIG_MAPS, namespace=world.namespace, labels="mine")
    assert [item["metadata"]["name"] for item in listed.items] == names


LABELS = {"a": {"app": "web", "tier": "1"}, "b": {"app": "web"}, "c": {"app": "db", "example.com/x": ""}, "d": {}}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "abcd"),
        ("app=web", "ab"),
        ("app==web", "ab"),
        ("app!=web", "cd"),
        ("app", "abc"),
        ("!app", "d"),
        ("app in (web, db)", "abc"),
        ("app in (db)", "c"),
        ("app notin (web)", "cd"),
        ("app=web,tier=1", "a"),
        ("app in (web,db),!tier", "bc"),
        ("app = web", "ab"),
        ("example.com/x", "c"),
        ("example.com/x=", "c"),
        ("app=nope", ""),
    ],
)
async def test_label_selectors(world, selector, expected):
    for name, labels in LABELS.items():
        body = world.config_map(name, labels={**labels, "mine": ""})
        await world.cluster.create(CONFIG_MAPS, body, namespace=world.namespace)
    terms = ",".join(term for term in (selector, "mine") if term)
    listed = await world.cluster.list(CONFIG_MAPS, namespace=world.namespace, labels=terms)
    assert "".join(item["metadata"]["name"] for item in listed.items) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=", "ac"),
        ("spec.nodeName!=", "b"),
        ("spec.nodeName=somewhere", "b"),
        ("spec.nodeName==somewhere", "b"),
        ("spec.nodeName!=somewhere", "ac"),
        ("status.phase=Pending", "ab"),
        ("status.phase!=Pending", "c"),
        ("metadata.name=a", "a"),
        ("spec.nodeName=,status.phase=Pending", "a"),
        ("spec.schedulerName=nobody", "abc"),
    ],
)
async def test_field_selectors_of_pods(world, selector, expected):
    for name in "abc":
        await world.cluster.create(PODS, world.pod(name), namespace=world.namespace)
    await world.bind("b", "somewhere")
    await world.set_phase("c", "Running")
    listed = await world.cluster.list(PODS, namespace=world.namespace, fields=selector)
    assert "".join(item["metadata"]["name"] for item in listed.items) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [("spec.unschedulable=true", ["b"]), ("spec.unschedulable=false", ["a"]), ("spec.unschedulable!=true", ["a"])],
)
async def test_field_selectors_of_nodes(world, selector, expected):
    await world.cluster.create(NODES, world.node("a"))
    await world.cluster.create(NODES, world.node("b", unschedulable=True))
    listed = await world.cluster.list(NODES, labels=world.selector, fields=selector)
    assert [item["metadata"]["name"] for item in listed.items] == [world.name(suffix) for suffix in expected]


@pytest.mark.parametrize("labels", ["a b", "a in web", "=a", "a=b=c"])
async def test_an_unreadable_label_selector_is_refused(world, labels):
    with pytest.raises(Rejected):
        await world.cluster.list(CONFIG_MAPS, namespace=world.namespace, labels=labels)


@pytest.mark.parametrize("fields", ["metadata", "data.key=1", "spec.nodeName=a"])
async def test_an_unknown_field_selector_is_refused(world, fields):
    with pytest.raises(Rejected):
        await world.cluster.list(CONFIG_MAPS, namespace=world.namespace, fields=fields)
