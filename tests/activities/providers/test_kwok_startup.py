"""A simulated Node that starts slowly: Ready, without the taints of its start and with its devices in time."""

from datetime import UTC, datetime, timedelta

from activities.ports.cluster import CONFIG_MAPS, NODES
from activities.providers.kwok.boot import KwokBoot
from activities.providers.kwok.record import KwokRecords
from activities.providers.kwok.startup import startup_of
from api.v1alpha1.kwok_node_class import KwokStartup
from simulator.apiserver.cluster import MemoryCluster

TAINT = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}
FIRST = {"key": "growth.dev/unregistered", "effect": "NoSchedule"}
SLOW = {"readyAfter": "10s", "taints": [TAINT], "taintsFor": "20s", "devicesAfter": "30s"}


async def test_each_comes_in_its_time_and_the_pass_tells_when():
    time = [datetime(2026, 11, 1, 12, tzinfo=UTC)]
    cluster = MemoryCluster(lambda: time[0])
    records = KwokRecords(cluster, "growth-system")
    amounts = {"cpu": "2", "example.com/device": "1"}
    await records.add(
        "m-1",
        server_type="small",
        location="fsn1",
        class_name="default",
        created_at=time[0],
        runs_at=time[0],
        labels={},
        node={"labels": {}, "taints": [FIRST], "capacity": amounts, "allocatable": amounts},
        startup=startup_of(KwokStartup.model_validate(SLOW)),
    )
    boot = KwokBoot(cluster, records, lambda: time[0])

    async def at(seconds):
        time[0] = datetime(2026, 11, 1, 12, tzinfo=UTC) + timedelta(seconds=seconds)
        due = await boot.boot()
        node = await cluster.get(NODES, "m-1")
        assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake", "KWOK takes up no Node later"
        return (
            node["metadata"]["annotations"].get("node-initialize.stage.kwok.x-k8s.io/delay"),
            [taint["key"] for taint in node["spec"].get("taints", [])],
            "example.com/device" in node["status"]["allocatable"],
            None if due is None else (due - time[0]).total_seconds(),
        )

    both = [FIRST["key"], TAINT["key"]]
    assert await at(0) == ("10s", both, False, 10)
    assert await at(9) == ("10s", both, False, 1)
    assert await at(10) == (None, both, False, 10)
    assert await at(20) == (None, [FIRST["key"]], False, 10)
    assert await at(30) == (None, [FIRST["key"]], True, None)
    (record,) = (await cluster.list(CONFIG_MAPS)).items
    assert "startup" not in record["data"], "it has started, and is not looked at any more"


def test_a_start_that_takes_no_time_is_none():
    assert startup_of(KwokStartup()) == {}
    assert startup_of(KwokStartup.model_validate({"taints": [TAINT]})) == {}
