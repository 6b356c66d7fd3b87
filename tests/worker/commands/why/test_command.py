"""`growth why`: the sentences about pods, nodes, requests and removals, and one line for names that are not there."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from activities.kube.client import KubeCluster
from activities.kube.kubeconfig import Access
from activities.ports.cluster import EVENTS
from activities.ports.errors import Rejected
from api.meta import format_timestamp
from tests.builders import NOW, after, before, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import Scene, scene, seat
from tests.planner.wishes import apart
from tests.worker.looking import LookedAt, growth, sight
from worker.commands.shared.cluster_view import ClusterView, ToldEvent
from worker.commands.why.command import NODE, REMOVAL, REQUEST, lines_about
from worker.commands.why.pod import why_pod
from worker.errors import CommandError


def about(name: str, seen: ClusterView, events=()) -> str:
    (found,) = [pod for pod in seen.snapshot.pods if pod.key == f"default/{name}"]
    return "\n".join(why_pod(found, seen, events))


def test_a_pod_that_a_machine_is_bought_for():
    text = about("web", sight(scene(pods=[pod("web", owner="rs-1"), pod("twin")])))
    assert text.startswith("Pod default/web asks for cpu 0.5, memory 512Mi, pods 1; class ")
    assert "of ReplicaSet rs-1, 1 other waiting pod of it." in text
    assert "the scheduler found no place for it" in text
    assert "Machines for it may come from pool default." in text
    # cx22 costs 0.0066 and is the cheapest of the pool's that takes both.
    assert "of pool default at 0.0066 EUR per hour (4.82 a month) for it and 1 other pod" in text
    assert "For 2 pods of pool default: cpu 50 %, memory 25 %; next: cx32 for 0.0106." in text


def test_a_pod_with_a_seat_on_a_coming_machine():
    waits = pod("web")
    coming = node_request("m-1", seats=[seat(waits)], phase="Provisioning", provisioningDeadline=after(minutes=5))
    text = about("web", sight(scene(pods=[waits], requests=[coming])))
    assert "It goes onto request m-1, which is kept for it (cx22 in fsn1: boots, due by 12:05:00)" in text
    assert "`growth why request m-1` tells more" in text


def test_a_pod_that_wants_a_machine_in_its_cool_off():
    cooling = node_removal_request("m-1", scaleDownAt=after(seconds=30), taintedAt=before(seconds=30))
    tainted = node("m-1", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}])
    seen = sight(scene(pods=[pod("web")], nodes=[tainted], removals=[cooling]))
    assert "It goes onto node m-1 (cx22 in fsn1: cools off until 12:00:30, then goes)" in about("web", seen)
    assert "The next round cancels the cool-off of that machine." in about("web", seen)
    assert "The next round cancels it: pods want the machine: default/web." in lines_about(REMOVAL, "m-1", seen)


def test_a_pod_without_a_place_and_its_back_off():
    events = [
        ToldEvent("2026-03-01T11:00:00Z", "TooLarge", "no machine is large enough"),
        ToldEvent("2026-03-01T11:30:00Z", "BackOff", "8 rounds in a row found no place: left out until 12:30"),
    ]
    text = about("big", sight(scene(pods=[pod("big", "60")])), events)
    assert "No place is found for it:\n  TooLarge: no machine of pool default is large enough for cpu 60; " in text
    assert "; cx42: cpu short by 52\n" in text
    assert "scaleUp.podBackoff" in text
    assert "Back-off, told at 2026-03-01T11:30:00Z: 8 rounds in a row found no place: left out until 12:30" in text
    assert "What Growth told of it last:\n  2026-03-01T11:00:00Z  TooLarge: no machine is large enough\n" in text
    assert text.endswith(
        "There is no node.\n3 offerings:\n  3 x Insufficient cpu (cx22 in fsn1 of default: 60 requested, 2 free): "
        "cx22 in fsn1 of default, cx32 in fsn1 of default, cx42 in fsn1 of default"
    )


def test_a_pod_of_a_pool_that_does_not_exist():
    lost = pod("lost", nodeSelector={"growth.dev/pool": "gone"})
    text = about("lost", sight(scene(pods=[lost])))
    assert "No pool: pool gone does not exist: there are default." in text
    assert "  PoolNotFound: " in text


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (pod("p", node="m-1"), "it is on node m-1 (Ready); `growth why node m-1` tells more"),
        (pod("p", node="m-1", phase="Succeeded"), "it has finished (Succeeded)"),
        (pod("p", owner=("DaemonSet", "ds")), "a DaemonSet or mirror pod belongs to its node"),
        (pod("p", schedulingGates=[{"name": "quota"}]), "a scheduling gate holds it back"),
        (pod("p") | {"status": {"phase": "Pending"}}, "the scheduler has not said that it finds no place for it"),
    ],
    ids=["bound", "finished", "daemon", "gated", "new"],
)
def test_a_pod_that_is_no_demand(made, why):
    text = about("p", sight(scene(pods=[made], nodes=[node("m-1")])))
    assert f"It is no demand: {why}" in text
    assert "Machines for it" not in text


def lines(name: str, made: Scene) -> str:
    return "\n".join(lines_about(NODE, name, sight(made)))


def test_a_node_at_work():
    pods = [pod("web", node="m-1"), pod("agent", node="m-1", owner=("DaemonSet", "ds"))]
    text = lines("m-1", scene(nodes=[node("m-1")], pods=pods))
    assert text == (
        "Node m-1: bought by Growth for pool default; a cx22 in fsn1, 0.0066 EUR per hour (4.82 a month).\n"
        "State: Ready.\n"
        "1 pod on it: default/web, beside 1 DaemonSet or mirror pod.\n"
        "It is not removed: pods are on it."
    )


def test_a_node_that_growth_did_not_buy():
    text = lines("n", scene(nodes=[node("n", pool=None)]))
    assert text.startswith("Node n: not bought by Growth.\n")
    assert text.endswith("Growth never removes it: it bears no request of Growth's.")


def test_an_idle_node_before_and_after_its_time():
    def idle(minutes, **spec):
        since = {"growth.dev/idle-since": before(minutes=minutes)}
        return scene(nodes=[node("m-1", annotations=since)], pools=[node_pool(**spec)])

    assert "Idle since 11:57:00 (for 3m); its cool-off begins at 12:07:00 (in 7m) if it stays so." in lines(
        "m-1", idle(3)
    )
    ripe = lines("m-1", idle(20))
    assert (
        "The next round begins its removal (Empty): Without pods since 2026-03-01T11:40:00Z; it goes at 12:01:00"
        in ripe
    )
    kept = lines("m-1", idle(20, limits={"min": 1, "max": 5}))
    assert "kept by a minimum: pool default keeps 1 machines, 0 of type cx22." in kept


@pytest.mark.parametrize(
    ("changes", "pools", "why"),
    [
        ({"annotations": {"growth.dev/do-not-remove": "yes"}}, [node_pool()], "a person annotated it"),
        ({"spec": {"unschedulable": True}}, [node_pool()], "it is cordoned"),
        ({}, [node_pool(scaleDown={"mode": "none"})], "pool default says scaleDown.mode: none"),
        ({}, [], "pool default is gone or cannot be read"),
    ],
    ids=["annotated", "cordoned", "mode none", "pool gone"],
)
def test_what_keeps_an_idle_node(changes, pools, why):
    changes = {"annotations": {}} | changes
    changes["annotations"] = changes["annotations"] | {"growth.dev/idle-since": before(hours=1)}
    made = scene(nodes=[node("m-1", **changes)], pools=pools)
    assert f"It is not removed: {why}" in lines("m-1", made)
    # What keeps it by these sentences is what keeps it from the plan.
    assert not sight(made).plan.removals


def test_a_node_of_the_worker_is_protected():
    made = scene(nodes=[node("m-1", annotations={"growth.dev/idle-since": before(hours=1)})], protected={"m-1"})
    assert "It is not removed: it carries the worker or its Temporal." in lines("m-1", made)


def test_a_reserved_node():
    waits = pod("web", tolerations=[{"key": "growth.dev/reserved", "value": "m-1", "effect": "NoSchedule"}])
    ready = node_request(
        "m-1", seats=[seat(waits)], phase="Ready", readyAt=before(seconds=5), releaseBy=after(seconds=55)
    )
    taint = {"key": "growth.dev/reserved", "value": "m-1", "effect": "NoSchedule"}
    text = lines("m-1", scene(nodes=[node("m-1", taints=[taint])], requests=[ready], pods=[waits]))
    assert "State: Ready, kept for 1 pod." in text
    assert (
        "until 12:00:55 (in 55s): 1 of 1 planned pods are not bound. At the deadline the node opens for all pods."
        in text
    )


def test_a_request_that_boots():
    events = [{"at": before(seconds=9 - i), "name": f"Step{i}", "reason": f"because {i}"} for i in range(7)]
    coming = node_request(
        "m-1",
        phase="Provisioning",
        reason="Launched",
        message="Server kwok://m-1 was created",
        attempts=2,
        providerID="kwok://m-1",
        provisioningDeadline=after(minutes=10),
        workflowId="node-request:c:m-1:u",
        events=events,
    )
    told = lines_about(REQUEST, "m-1", sight(scene(requests=[coming])))
    assert told == [
        "NodeRequest m-1: a cx22 in fsn1 at 0.0066 EUR per hour (4.82 a month) for pool default.",
        "Kept for no pod.",
        (
            "Phase Provisioning: boots, due by 12:10:00; last step 11:59:57 (3s ago). "
            "Launched: Server kwok://m-1 was created"
        ),
        "Awaited until 12:10:00 (in 10m): The server boots. At the deadline the server is removed.",
        "You may: `growth requests cancel m-1`.",
        "2 create calls so far; server: kwok://m-1.",
        "Temporal workflow: node-request:c:m-1:u.",
        "What happened last:",
        *(f"  11:59:{51 + i}  Step{i}: because {i}" for i in range(2, 7)),
    ]


def test_a_request_without_a_workflow_that_nobody_needs():
    told = lines_about(REQUEST, "m-1", sight(scene(requests=[node_request("m-1")])))
    assert "Next: Due now: Ask the provider for the server." in told
    assert "The next round cancels it: no pod needs it any more, and no server was asked for." in told
    assert "No workflow drives it yet: is the worker (`growth run`) up?" in told


def test_an_unmet_request():
    unmet = node_request(
        "m-1", phase="Unmet", reason="InsufficientCapacity", message="none left", expiresAt=after(minutes=2)
    )
    told = "\n".join(lines_about(REQUEST, "m-1", sight(scene(requests=[unmet]))))
    assert "Phase Unmet: no capacity: no machine. InsufficientCapacity: none left\n" in told
    assert (
        "Awaited until 12:02:00 (in 2m): No machine came: none left. At the deadline this record goes. "
        "The offering may be tried again.\n"
    ) in told
    assert "You may" not in told


def test_a_request_whose_machines_settle_together():
    bound = pod("web", node="m-1")
    other = pod("api", affinity=apart(app="api"))
    status = {"phase": "Ready", "readyAt": before(seconds=5), "releaseBy": after(seconds=55)}
    first = node_request("m-1", seats=[seat(bound)], settledAt=before(seconds=1), **status)
    second = node_request("m-2", seats=[seat(other)], phase="Provisioning", provisioningDeadline=after(minutes=5))
    taint = {"key": "growth.dev/reserved", "value": "m-1", "effect": "NoSchedule"}
    made = scene(nodes=[node("m-1", taints=[taint])], requests=[first, second], pods=[bound, other])
    told = "\n".join(lines_about(REQUEST, "m-1", sight(made)))
    awaited = "All its pods are bound; those of 1 other machines are on their way."
    assert f"{awaited} At the deadline the node opens for all pods." in told


def test_a_parked_removal():
    parked = node_removal_request(
        "m-1", phase="CouldNotRemove", retryAt=after(hours=4), removalAttempts=5, reason="RemovalFailed", message="no"
    )
    told = lines_about(REMOVAL, "m-1", sight(scene(nodes=[node("m-1")], removals=[parked])))
    assert told[0].startswith("NodeRemovalRequest m-1: a cx22 in fsn1 at 0.0066 EUR per hour (4.82 a month) of pool")
    assert told[0].endswith(" of pool default shall go, reason Requested.")
    assert any(line.startswith("Awaited until 16:00:00 (in 4h): The server could not be removed.") for line in told)
    verbs = ", or ".join(f"`growth removals {verb} m-1`" for verb in ("retry", "skip", "abandon"))
    assert f"You may: {verbs}." in told
    command = "kubectl annotate noderemovalrequest m-1 growth.dev/decision=retry"
    assert f"Or with kubectl alone: `{command}` (or skip, abandon)." in told


def test_a_decision_that_stands_on_a_removal_is_what_comes_next():
    cooling = node_removal_request("m-1", scaleDownAt=after(seconds=40), taintedAt=before(seconds=20))
    cooling["metadata"]["annotations"] = {"growth.dev/decision": "cancel"}
    told = lines_about(REMOVAL, "m-1", sight(scene(nodes=[node("m-1")], removals=[cooling])))
    assert "Next: Due now: Cancelled by annotation." in told
    assert "Or with kubectl alone: `kubectl annotate noderemovalrequest m-1 growth.dev/decision=cancel`." in told


def test_a_cancelled_removal():
    cancelled = node_removal_request("m-1", cancel={"at": before(seconds=2), "by": "Planner", "reason": "pods want it"})
    told = lines_about(REMOVAL, "m-1", sight(scene(nodes=[node("m-1")], removals=[cancelled])))
    assert "Cancelled by Planner at 11:59:58: pods want it." in told
    assert not any(line.startswith("You may") for line in told)


def test_a_removal_of_a_node_that_is_another_machines_removes_nothing():
    seen = sight(scene(nodes=[node("m-1", pool=None)], removals=[node_removal_request("m-1")]))
    assert any("is not the machine that this removal names" in line for line in lines_about(REMOVAL, "m-1", seen))


@pytest.mark.parametrize(
    ("kind", "name", "line"),
    [
        (NODE, "m-9", "no Node is named m-9: did you mean m-1?"),
        (NODE, "coming", "no Node is named coming: there is `growth why request coming`"),
        (REQUEST, "m-1", "no NodeRequest is named m-1: there is `growth why node m-1`"),
        (REQUEST, "other", "no NodeRequest is named other: none is named alike; `growth status` lists"),
        (REMOVAL, "zzz", "no NodeRemovalRequest is named zzz: there is none at all"),
    ],
)
def test_unknown_names(kind, name, line):
    seen = sight(scene(nodes=[node("m-1")], requests=[node_request("coming")]))
    with pytest.raises(CommandError) as refused:
        lines_about(kind, name, seen)
    assert str(refused.value).startswith(line)
    assert refused.value.code == 1


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    made = LookedAt(lambda: datetime.now(UTC))

    async def connect(*_given, **_options):
        return made

    path = tmp_path / "kubeconfig"
    path.write_text("")
    monkeypatch.setenv("GROWTH_KUBECONFIG", str(path))
    monkeypatch.setattr(KubeCluster, "connect", connect)
    return made


def event(name: str, reason: str, note: str, *, kind="Pod", controller="growth.dev/growth", minute: int = 0):
    body = {
        "metadata": {"name": f"{name}.{reason}".lower(), "namespace": "default"},
        "eventTime": format_timestamp(NOW + timedelta(minutes=minute)),
        "reportingController": controller,
        "reason": reason,
        "note": note,
        "regarding": {"kind": kind, "name": name, "namespace": "default"},
    }
    return EVENTS, body


def test_a_pod_of_a_cluster_with_its_events(cluster, monkeypatch, capsys):
    told = [
        event("big", "TooLarge", "later", minute=9),
        event("big", "OfferingUnavailable", "sooner", minute=2),
        event("big", "Scheduled", "not ours", controller="default-scheduler"),
        event("other", "TooLarge", "not its"),
    ]
    asyncio.run(cluster.fill(scene(pods=[pod("big", "60")]), *told))
    code, out, err = growth(monkeypatch, capsys, "why", "pod", "default/big")
    assert (code, err) == (0, "")
    assert (
        "What Growth told of it last:\n"
        "  2026-03-01T12:02:00Z  OfferingUnavailable: sooner\n  2026-03-01T12:09:00Z  TooLarge: later\n"
        "There is no node.\n3 offerings:\n"
    ) in out
    assert cluster.is_closed


def test_a_pod_without_a_namespace_is_of_that_of_the_context(cluster, monkeypatch, capsys):
    asyncio.run(cluster.fill(scene(pods=[pod("web", "60"), pod("other", "1")])))
    cluster.access = Access("context here", "here", "default")
    assert growth(monkeypatch, capsys, "why", "pod", "web")[1].startswith("Pod default/web asks for ")
    cluster.access = Access("context here", "here", "shop")
    assert growth(monkeypatch, capsys, "why", "pod", "web")[2] == (
        "growth: no Pod is named shop/web: there is default/web\n"
    )
    assert growth(monkeypatch, capsys, "why", "pod", "nobody")[2] == (
        "growth: no Pod is named shop/nobody: none is named alike (a pod of another namespace is named as "
        "NAMESPACE/NAME)\n"
    )


def test_events_that_may_not_be_read_stop_nothing(cluster, monkeypatch, capsys):
    asyncio.run(cluster.fill(scene(pods=[pod("big", "60")])))
    cluster.fail = {"events": Rejected("list events: forbidden")}
    code, out, err = growth(monkeypatch, capsys, "why", "pod", "default/big")
    assert code == 0
    assert "TooLarge" in out
    assert err == "growth: what Growth told of it before is left out: list events: forbidden\n"


def test_nodes_requests_and_removals_of_a_cluster(cluster, monkeypatch, capsys):
    requests = [node_request("m-1", phase="Ready"), node_request("m-2", phase="Unmet")]
    told = event("m-1", "Requested", "cx22 in fsn1; next: cx32", kind="NodeRequest")
    asyncio.run(
        cluster.fill(scene(nodes=[node("m-1")], requests=requests, removals=[node_removal_request("m-1")]), told)
    )
    for kind, name, beginning in (
        ("node", "m-1", "Node m-1: bought by Growth"),
        ("request", "m-1", "NodeRequest m-1: "),
        ("request", "m-2", "NodeRequest m-2: "),
        ("removal", "m-1", "NodeRemovalRequest m-1: "),
    ):
        code, out, err = growth(monkeypatch, capsys, "why", kind, name)
        assert (code, err) == (0, "")
        assert out.startswith(beginning)
        why = "\nWhy it was bought, told at 2026-03-01T12:00:00Z: cx22 in fsn1; next: cx32.\n"
        assert (why in out) == (kind != "removal" and name == "m-1")


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (["why", "pod", "shop/nobody"], 1, "growth: no Pod is named shop/nobody: "),
        (
            ["why", "pod", "default/broken"],
            1,
            "growth: Pod default/broken cannot be read and is left out of all plans: spec.",
        ),
        (["why", "node", "m-7"], 1, "growth: no Node is named m-7: did you mean m-1?\n"),
        (["why", "pod", "a/b/c"], 2, "growth: 'a/b/c': a pod is named as NAMESPACE/NAME\n"),
        (["why", "pod", "/b"], 2, "growth: '/b': a pod is named as NAMESPACE/NAME\n"),
        (["why", "pod", ""], 2, "growth: '': a pod is named as NAMESPACE/NAME\n"),
        (["why", "node", "a/b"], 2, "growth: 'a/b': a Node has no namespace, and is named without a slash\n"),
        (["why", "request", "a/b"], 2, "growth: 'a/b': a NodeRequest has no namespace, "),
        (["why", "removal", ""], 2, "growth: '': a NodeRemovalRequest has no namespace, "),
        (["why", "pod"], 2, "growth: "),
        (["why", "machine", "m-1"], 2, "growth: "),
    ],
)
def test_bad_input_is_one_line(cluster, monkeypatch, capsys, words, code, line):  # noqa: PLR0917 - fixtures
    asyncio.run(cluster.fill(scene(nodes=[node("m-1")], pods=[pod("broken", "6 cores")])))
    given, out, err = growth(monkeypatch, capsys, *words)
    assert (given, out) == (code, "")
    assert err.startswith(line)
    assert err.count("\n") == 1
