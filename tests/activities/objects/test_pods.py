"""Who keeps a node from being empty, who is awaited, and who is let onto a reserved node."""

from datetime import UTC, datetime

import pytest

from activities.objects.pods import awaited_on, is_occupant, occupants_of, see_seats, tolerate, tolerates
from activities.ports.cluster import PODS, ObjectList
from activities.ports.errors import Conflict, Rejected, Unreachable
from api.v1alpha1.node_request import Seat
from simulator.apiserver.cluster import MemoryCluster

OWN = {"key": "growth.dev/reserved", "operator": "Equal", "value": "r", "effect": "NoSchedule"}
OTHER = {"key": "gpu", "operator": "Exists"}


class Cluster(MemoryCluster):
    """Refuses patches of pods as a test says."""

    def __init__(self):
        super().__init__(lambda: datetime(2026, 11, 1, tzinfo=UTC))
        self.before_patch = None
        self.read = []

    async def get(self, resource, name, *, namespace=None):
        self.read.append(name)
        return await super().get(resource, name, namespace=namespace)

    async def patch(self, resource, name, operations, *, namespace=None, subresource=None):
        if self.before_patch is not None:
            await self.before_patch(name)
        return await super().patch(resource, name, operations, namespace=namespace, subresource=subresource)


@pytest.fixture
def cluster():
    return Cluster()


def pod(name="p", *, phase="Running", owner=None, annotations=None, **spec):
    metadata = {"name": name, "namespace": "shop", "annotations": annotations or {}}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "o", "uid": "u", "controller": True}]
    return {"metadata": metadata, "spec": {"containers": [], **spec}, "status": {"phase": phase}}


async def add(cluster, name="p", **fields):
    created = await cluster.create(PODS, pod(name, **fields), namespace="shop")
    return created, Seat(namespace="shop", name=name, uid=created["metadata"]["uid"])


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        (pod(), True),
        (pod(owner="ReplicaSet"), True),
        (pod(owner="DaemonSet"), False),
        (pod(annotations={"kubernetes.io/config.mirror": "x"}), False),
        (pod(phase="Succeeded"), False),
        (pod(phase="Failed"), False),
        (pod(phase="Pending"), True),
        (pod(phase="Unknown"), True),
    ],
)
def test_who_keeps_a_node_from_being_empty(given, counts):
    assert is_occupant(given) is counts


def test_a_daemon_set_that_is_not_the_controller_does_not_excuse_a_pod():
    given = pod(owner="DaemonSet")
    given["metadata"]["ownerReferences"][0]["controller"] = False
    assert is_occupant(given)


async def test_occupants_are_those_of_the_node(cluster):
    await add(cluster, "a", nodeName="n")
    await add(cluster, "b", nodeName="m")
    await add(cluster, "c", nodeName="n", owner="DaemonSet")
    await add(cluster, "d")
    assert await occupants_of(cluster, "n") == ["shop/a"]


async def test_a_node_is_kept_for_pods_that_wait_for_it(cluster):
    async def keep(name, node="n", phase="Pending", **fields):
        await add(cluster, name, **fields)
        said = [{"op": "replace", "path": "/status", "value": {"phase": phase, "nominatedNodeName": node}}]
        await cluster.patch(PODS, name, said, namespace="shop", subresource="status")

    await keep("a")
    await keep("elsewhere", node="m")
    await keep("bound-elsewhere", nodeName="m")
    await keep("ended", phase="Failed")
    await keep("daemon", owner="DaemonSet")
    await add(cluster, "undecided")
    assert await awaited_on(cluster, "n") == ["shop/a"]


@pytest.mark.parametrize(
    ("toleration", "lets_in"),
    [
        (OWN, True),
        (OWN | {"value": "s"}, False),
        (OWN | {"effect": "NoExecute"}, False),
        ({"key": "growth.dev/reserved", "value": "r"}, True),
        ({"key": "growth.dev/reserved", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        (OTHER, False),
    ],
)
def test_which_tolerations_let_a_pod_in(toleration, lets_in):
    """Source: Kubernetes docs, "Taints and Tolerations": matching."""
    assert tolerates(pod(tolerations=[toleration]), "r") is lets_in


async def test_tolerations_are_only_added(cluster):
    with_other, _ = await add(cluster, "a", tolerations=[OTHER])
    without, _ = await add(cluster, "b")
    assert await tolerate(cluster, [with_other, without], "r") == ""
    for name, wanted in (("a", [OTHER, OWN]), ("b", [OWN])):
        assert (await cluster.get(PODS, name, namespace="shop"))["spec"]["tolerations"] == wanted


async def test_tolerated_twice_it_is_added_once(cluster):
    given, _ = await add(cluster)
    await tolerate(cluster, [given], "r")
    await tolerate(cluster, [given], "r")
    assert (await cluster.get(PODS, "p", namespace="shop"))["spec"]["tolerations"] == [OWN]


async def test_a_pod_that_changed_is_read_again(cluster):
    given, _ = await add(cluster)

    async def label(name):
        cluster.before_patch = None
        change = [{"op": "add", "path": "/metadata/labels", "value": {"x": "1"}}]
        await cluster.patch(PODS, name, change, namespace="shop")

    cluster.before_patch = label
    await tolerate(cluster, [given], "r")
    assert (await cluster.get(PODS, "p", namespace="shop"))["spec"]["tolerations"] == [OWN]


@pytest.mark.parametrize("change", ["bound", "gone", "replaced"])
async def test_a_pod_that_needs_it_no_more_is_passed_over(cluster, change):
    given, _ = await add(cluster)

    async def happen(name):
        cluster.before_patch = None
        if change == "bound":
            cluster.bind("shop", name, "n")
            return
        await cluster.delete(PODS, name, namespace="shop")
        if change == "replaced":
            await add(cluster)

    cluster.before_patch = happen
    assert await tolerate(cluster, [given], "r") == ""
    if change != "gone":
        assert "tolerations" not in (await cluster.get(PODS, "p", namespace="shop"))["spec"]


async def test_a_pod_that_keeps_changing_is_a_conflict(cluster):
    given, _ = await add(cluster)

    async def conflict(_):
        raise Conflict("changed")

    cluster.before_patch = conflict
    with pytest.raises(Conflict):
        await tolerate(cluster, [given], "r")


async def test_a_refusal_is_told_and_the_other_pods_are_let_in(cluster):
    pods = [(await add(cluster, name))[0] for name in ("a", "b", "c")]

    async def refuse(name):
        if name == "b":
            raise Rejected("b is forbidden")

    cluster.before_patch = refuse
    assert await tolerate(cluster, pods, "r") == "b is forbidden"
    assert (await cluster.get(PODS, "c", namespace="shop"))["spec"]["tolerations"] == [OWN]


async def test_seats_are_awaited_until_their_pods_are_bound_or_over(cluster):
    _, bound = await add(cluster, "bound", nodeName="n")
    _, waiting = await add(cluster, "waiting")
    _, tolerating = await add(cluster, "tolerating", tolerations=[OWN])
    over, finished = await add(cluster, "finished")
    done = [{"op": "replace", "path": "/status/phase", "value": "Failed"}]
    await cluster.patch(PODS, over["metadata"]["name"], done, namespace="shop", subresource="status")
    gone = Seat(namespace="shop", name="gone", uid="g")
    replaced = waiting.model_copy(update={"uid": "earlier"})
    seated = await see_seats(cluster, cluster, [bound, waiting, tolerating, finished, gone, replaced], "r")
    assert seated.awaited == 4
    assert [p["metadata"]["name"] for p in seated.untolerated] == ["waiting"]


async def test_no_seats_are_not_awaited(cluster):
    seated = await see_seats(cluster, cluster, [], "r")
    assert (seated.awaited, seated.untolerated) == (0, ())


async def test_of_many_pods_only_those_that_are_neither_there_nor_known_to_come_are_read(cluster):
    seats = [(await add(cluster, f"bound-{i}", nodeName="r"))[1] for i in range(20)]
    seats += [(await add(cluster, f"let-in-{i}", tolerations=[OWN]))[1] for i in range(20)]
    seats += [(await add(cluster, "elsewhere", nodeName="n"))[1], (await add(cluster, "late"))[1]]
    seated = await see_seats(cluster, cluster, seats, "r")
    assert seated.awaited == 21
    assert [pod["metadata"]["name"] for pod in seated.untolerated] == ["late"]
    assert sorted(cluster.read) == ["elsewhere", "late"]


async def test_a_cache_that_lags_behind_keeps_the_machine_a_moment_longer_and_no_pod_out(cluster):
    seats = [(await add(cluster, name, tolerations=[OWN]))[1] for name in ("bound", "gone", "moved")]
    lagging = ObjectList((await cluster.list(PODS)).items, "1")
    for name, node in (("bound", "r"), ("moved", "n")):
        cluster.bind("shop", name, node)
    await cluster.delete(PODS, "gone", namespace="shop")
    seats.append((await add(cluster, "new"))[1])

    class Lagging:
        async def list(self, _):
            return lagging

    seated = await see_seats(cluster, Lagging(), seats, "r")
    assert seated.awaited == 3
    assert [pod["metadata"]["name"] for pod in seated.untolerated] == ["new"]


async def test_without_a_cache_all_is_read(cluster):
    seats = [(await add(cluster, name, tolerations=[OWN]))[1] for name in ("a", "b")]

    class Empty:
        async def list(self, _):
            raise Unreachable("the cache has none yet")

    assert (await see_seats(cluster, Empty(), seats, "r")).awaited == 2
    assert sorted(cluster.read) == ["a", "b"]
