"""Why a cluster cannot be looked at: one line that names the context, soon, and with all that is missing at once."""

import asyncio

import pytest

from activities.kube.kubeconfig import Access
from activities.ports.errors import Forbidden, GrowthError, NotFound, Rejected, Unreachable
from activities.round.observe import DefinitionsGoing, Observer
from simulator.world import NAMESPACE
from tests.builders import kwok_node_class, pod
from tests.planner.scenes import Scene, scene
from tests.worker.looking import LookedAt
from worker.commands.shared import live_cluster
from worker.commands.shared.live_cluster import LiveCluster
from worker.commands.why.pod import why_pod
from worker.errors import CommandError
from worker.ports import ports_on, utc_now

REAL = {"metadata": {"name": "cp-1"}, "spec": {"providerID": "hcloud://42", "unschedulable": True}}
ALLOWED = {
    "type": "Ready",
    "status": "True",
    "reason": "SimulatedMachinesAllowed",
    "lastTransitionTime": "2026-03-01T11:00:00Z",
}
KINDS = ("nodepools", "noderequests", "noderemovalrequests", "kwoknodeclasses", "hetznernodeclasses")
INSTALL = "`growth crds | kubectl apply --server-side -f -` installs"


@pytest.fixture
async def cluster():
    made = LookedAt(utc_now)
    await made.fill(Scene())
    return made


def looking_at(cluster: LookedAt) -> LiveCluster:
    ports = ports_on(cluster, cluster, cluster_name="test", namespace=NAMESPACE)
    return LiveCluster(ports, cluster.access)


async def refusal(cluster: LookedAt) -> str:
    with pytest.raises(CommandError) as refused:
        await looking_at(cluster).look()
    assert refused.value.code == 1
    return str(refused.value)


def lacking(*names: str) -> dict[str, GrowthError]:
    return {name: Forbidden("", user="jane", verb="list", resource=name, advice="grant it") for name in names}


def undefined(*names: str) -> dict[str, GrowthError]:
    return {name: NotFound(f"list {name}: HTTP 404") for name in names}


@pytest.mark.parametrize(
    ("fail", "told"),
    [
        ({"nodepools": Unreachable("list nodepools: refused")}, "refused"),
        ({"pods": Unreachable("list pods: refused")}, "refused"),
        ({"nodepools": Rejected("list nodepools: unknown credentials")}, "unknown credentials"),
        (lacking("pods", "nodes"), "user jane may not list nodes, pods: grant it"),
        (lacking("nodepools") | lacking("pods"), "user jane may not list nodepools, pods: grant it"),
        (
            undefined("nodepools", "noderequests"),
            f"NodePool and NodeRequest are not installed: {INSTALL} what is missing",
        ),
        (undefined(*KINDS), f"Growth's kinds are not installed: {INSTALL} them"),
        (undefined("pods", "nodes", *KINDS), "the server knows no nodes, pods: is it a Kubernetes API server?"),
    ],
)
async def test_what_is_wrong_is_told_with_the_context(cluster, fail, told):
    cluster.fail = fail
    assert await refusal(cluster) == f"{told} (context here; --context chooses another)"


async def test_a_pod_looks_at_its_own_cluster_and_has_no_context(cluster):
    cluster.fail = undefined(*KINDS)
    cluster.access = Access("the cluster of this pod")
    assert (await refusal(cluster)).endswith("installs them (the cluster of this pod)")
    assert looking_at(cluster).namespace == "default"


async def test_definitions_that_are_being_deleted_are_told(cluster, monkeypatch):
    async def going(*_given):
        raise DefinitionsGoing({})

    monkeypatch.setattr(Observer, "observe", going)
    assert (await refusal(cluster)).startswith("Growth's definitions are being deleted, or have been since (context ")


@pytest.mark.parametrize(
    ("nodes", "conditions", "codes"),
    [
        ([], [], []),
        ([REAL], [], ["RealCluster"]),
        ([REAL], [ALLOWED], []),
    ],
    ids=["simulated", "real", "allowed by the worker"],
)
async def test_simulated_machines_are_planned_as_the_worker_does(nodes, conditions, codes):
    simulated = kwok_node_class()
    simulated["status"]["conditions"] = conditions
    cluster = LookedAt(utc_now)
    await cluster.fill(scene(nodes=nodes, pods=[pod("web")], classes=[simulated]))
    view = await looking_at(cluster).look()
    assert [reason.code for entry in view.plan.unplaced for reason in entry.reasons] == codes
    assert len(view.plan.requests) == (not codes)
    assert ("Node cp-1 is real" in "\n".join(why_pod(view.snapshot.pods[0], view))) is bool(codes)


async def test_a_server_that_hangs_is_given_up_in_time(cluster, monkeypatch):
    monkeypatch.setattr(live_cluster, "_FIRST_SECONDS", 0.05)
    monkeypatch.setattr(cluster, "list", lambda *_given: asyncio.sleep(5))
    async with asyncio.timeout(3):
        assert (await refusal(cluster)).startswith("the API server did not answer in time: is it up? (context here; ")


async def test_a_plan_that_fails_is_told_in_one_line(cluster, monkeypatch):
    def fail(*_given):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(live_cluster, "cluster_view", fail)
    assert await refusal(cluster) == (
        "planning failed, as it does in the worker's rounds: ZeroDivisionError: division by zero (a defect: report it "
        "with the objects of `growth plan -f`)"
    )
