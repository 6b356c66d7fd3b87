"""DaemonSet pods on a drained node: who is asked to leave, when, and that none of them keeps the machine."""

from datetime import timedelta

from activities.ports.cluster import PODS
from tests.activities.lives import START, at_each_write
from tests.activities.removals.drains import draining, end_pods, events, go_on, going, pods, status_of
from tests.activities.rounds import Crash
from tests.tables import rows

EXPECTED = [
    (["dns-1", "logs-1", "web-1"], ["web-1"]),
    (["dns-1", "logs-1"], []),
    (["dns-1", "logs-1"], ["dns-1"]),
    (["logs-1"], []),
    (["logs-1"], ["logs-1"]),
    ([], []),
]
"""Who is on the node, and who was asked to end."""
EXISTS = [{"operator": "Exists"}]


async def run_daemon(life, name="logs-1", *, annotations=None, **fields):
    """A DaemonSet's pod on the Node."""
    await life.run_pod(name, owner="logs", labels={"app": "logs"}, annotations=annotations, **fields)
    await life.cluster.put(PODS, name, "/metadata/ownerReferences/0/kind", "DaemonSet")


async def test_they_leave_when_all_others_have_ended():
    """kubernetes-sigs/karpenter issues 1133, 2276: log agents that ended before the pods whose logs they send."""
    life = await draining("web-1")
    await run_daemon(life)
    await life.run_pod("dns-1", owner="dns", labels={"app": "dns"}, priorityClassName="system-cluster-critical")
    seen = []
    for _ in range(200):
        await go_on(life, seconds=1, kubelet=False)
        await end_pods(life, in_time=True)
        names = sorted(await pods(life))
        if not seen or seen[-1] != (names, await going(life)):
            seen.append((names, await going(life)))
        if (await status_of(life))["phase"] == "Deprovisioning":
            break
    assert seen == EXPECTED
    assert "DaemonSets" in events(await status_of(life))


@rows(
    "pod",
    {
        "comes back, all taints": {"tolerations": EXISTS},
        "comes back, all taints of the effect": {"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]},
        "comes back, ours": {"tolerations": [{"operator": "Exists", "key": "growth.dev/scale-down"}]},
        "system-critical": {"priorityClassName": "system-node-critical"},
        "works in the kubelet's directory": {
            "volumes": [{"name": "plugins", "hostPath": {"path": "/var/lib/kubelet/plugins"}}]
        },
        "shall not": {"annotations": {"cluster-autoscaler.kubernetes.io/enable-ds-eviction": "false"}},
        "a person's word": {"annotations": {"growth.dev/do-not-remove": "x"}},
        "its own word": {"annotations": {"growth.dev/safe-to-evict": "false"}},
    },
)
async def test_these_end_with_the_server(pod):
    """kubernetes-sigs/aws-ebs-csi-driver issue 1955: without its driver, no volume leaves the node."""
    life = await draining("web-1")
    await run_daemon(life, **pod)
    assert (await go_on(life))[-1] == "commit_removal"
    assert list(await pods(life)) == ["logs-1"]
    assert await going(life) == []


@rows(
    "pod",
    {
        "as the controller makes it": {
            "tolerations": [
                {"operator": "Exists", "key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
                {"operator": "Exists", "key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
            ]
        },
        "all that execute": {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
        "keeps data": {
            "volumes": [{"name": "cache", "emptyDir": {}}, {"name": "log", "hostPath": {"path": "/var/log"}}]
        },
    },
)
async def test_these_are_asked_with_their_own_grace(pod):
    life = await draining()
    await run_daemon(life, terminationGracePeriodSeconds=90, **pod)
    await life.do("evict_pods")
    metadata = (await pods(life))["logs-1"]
    assert metadata["deletionGracePeriodSeconds"] == 90
    step = await life.removal_step()
    assert (step.reason, step.message) == (
        "DaemonSets",
        (
            "All other pods have left; 1 DaemonSet pods have the time that they ask for, to end. "
            "The node is looked at again every 5s"
        ),
    )
    life.pass_time(90)
    assert (await life.removal_step()).reason == "DaemonSets"
    life.pass_time(1)
    assert (await life.removal_step()).effect == "commit_removal"


async def test_none_keeps_the_machine_by_its_budget():
    life = await draining()
    await run_daemon(life)
    await life.add_budget("logs", selector={"matchLabels": {"app": "logs"}}, maxUnavailable=0)
    assert await go_on(life) == ["evict_pods", "commit_removal"]
    (event,) = [e["reason"] for e in (await status_of(life))["events"] if e["name"] == "DaemonSets"]
    assert "1 may not, and end with the machine: evict pod shop/logs-1: The disruption budget logs" in event


async def test_an_empty_node_goes_as_ever():
    over = {"phase": "Pending", "scaleDownAt": START, "taintedAt": START - timedelta(minutes=1)}
    life = await draining(status=over, reason="Empty")
    await run_daemon(life)
    assert await go_on(life) == ["commit_removal"]


@at_each_write(5)
async def test_killed_at_any_write_the_machine_goes(write, when):
    life = await draining("web-1")
    await run_daemon(life)
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await go_on(life)
    except Crash:
        life.restart()
    await go_on(life)
    assert (await status_of(life))["phase"] == "Deprovisioning"
    assert await pods(life) == {}
