from fractions import Fraction

import pytest

from activities.ports.cluster import NODES
from activities.ports.errors import NotFound, Unreachable
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.faults import Fault
from simulator.hetzner.flags import read_flags
from simulator.hetzner.nodes import HetznerNodes
from simulator.scheduling.kubelet import Kubelet
from tests.simulator.hetzner.desk import Desk

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
SCRIPT = """#!/bin/sh
# kubelet --node-labels=comment=yes
kubelet --node-labels=pool=a,growth.dev/pool=b --register-with-taints=growth.dev/unregistered:NoSchedule \
  --max-pods=50 --kube-reserved=cpu=100m,memory=200Mi --system-reserved=memory=100Mi,ephemeral-storage=1Gi \
  '--eviction-hard=memory.available<100Mi,nodefs.available<10%'
"""
EXTERNAL = "kubelet --cloud-provider=external --register-with-taints=a=b:NoExecute"


class Yard(Desk):
    def __init__(self, **options):
        super().__init__()
        self.cluster = MemoryCluster(lambda: self.now)
        self.nodes = HetznerNodes(self.cloud, self.cluster, now=lambda: self.now, **options)

    async def settle(self):
        for _ in range(5):
            if not await self.nodes.step():
                return
        pytest.fail("the nodes never come to rest")

    async def node(self, name="one"):
        return await self.cluster.get(NODES, name)

    async def count(self):
        return len((await self.cluster.list(NODES)).items)


async def test_a_running_server_registers_its_node_after_its_boot():
    yard = Yard()
    yard.made(user_data=SCRIPT)
    yard.wait(33)
    await yard.settle()
    assert await yard.count() == 0
    yard.wait(1)
    assert await yard.nodes.step() is True
    assert await yard.nodes.step() is False
    node = await yard.node()
    assert node["metadata"]["labels"] == {
        "kubernetes.io/hostname": "one",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "pool": "a",
        "growth.dev/pool": "b",
    }
    assert node["spec"] == {"taints": [{"key": "growth.dev/unregistered", "effect": "NoSchedule"}]}
    # 4096 MiB less 6.9 %, as was measured on a real one; 40 decimal GB less 2 %.
    assert node["status"]["capacity"] == {
        "cpu": "2",
        "memory": "3904897Ki",
        "ephemeral-storage": "39200000000",
        "pods": "50",
    }
    assert node["status"]["allocatable"] == {
        "cpu": "1900m",
        "memory": f"{3904897 - 400 * 1024}Ki",
        "ephemeral-storage": str(39_200_000_000 * 9 // 10 - 2**30),
        "pods": "50",
    }


async def test_an_arm_server_says_so():
    yard = Yard()
    yard.running(server_type="cax11")
    await yard.settle()
    assert (await yard.node())["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"


async def test_a_server_that_does_not_run_has_no_node():
    yard = Yard()
    yard.cloud.faults.append(Fault("create_server", "action_error", command="start_server", code="server_error"))
    yard.running()
    await yard.settle()
    assert await yard.count() == 0


async def test_a_node_that_a_person_deletes_does_not_come_again():
    yard = Yard()
    yard.running()
    await yard.settle()
    await yard.cluster.delete(NODES, "one")
    yard.wait(60)
    await yard.settle()
    assert await yard.count() == 0


async def test_a_kubelet_with_a_forbidden_label_does_not_start():
    yard = Yard()
    yard.running(user_data="kubelet --node-labels=node-role.kubernetes.io/worker=")
    await yard.settle()
    assert await yard.count() == 0


async def test_a_node_becomes_ready_with_the_simulated_kubelets():
    yard = Yard()
    yard.running()
    await yard.settle()
    await Kubelet(yard.cluster, now=lambda: yard.now).step()
    conditions = (await yard.node())["status"]["conditions"]
    assert [(each["type"], each["status"]) for each in conditions] == [("Ready", "True")]


async def test_without_a_controller_nobody_touches_a_node():
    yard = Yard()
    number = yard.running(user_data=EXTERNAL)
    await yard.settle()
    node = await yard.node()
    assert "providerID" not in node["spec"]
    assert [each["key"] for each in node["spec"]["taints"]] == ["a", UNINITIALIZED]
    yard.call("DELETE", f"/servers/{number}")
    yard.wait(60)
    await yard.settle()
    assert await yard.count() == 1


async def test_the_controller_initialises_a_node_after_its_delay_and_deletes_it_with_its_server():
    yard = Yard(controller=True, controller_delay_seconds=5)
    number = yard.running(user_data=EXTERNAL)
    await yard.settle()
    yard.wait(4)
    await yard.settle()
    assert "providerID" not in (await yard.node())["spec"]
    yard.wait(1)
    await yard.settle()
    node = await yard.node()
    assert node["spec"] == {
        "taints": [{"key": "a", "value": "b", "effect": "NoExecute"}],
        "providerID": f"hcloud://{number}",
    }
    labels = node["metadata"]["labels"]
    assert labels["node.kubernetes.io/instance-type"] == "cx23"
    assert labels["topology.kubernetes.io/region"] == "fsn1"
    assert labels["topology.kubernetes.io/zone"] == "fsn1-dc14"
    assert labels["failure-domain.beta.kubernetes.io/zone"] == "fsn1-dc14"
    assert labels["instance.hetzner.cloud/provided-by"] == "cloud"
    yard.call("DELETE", f"/servers/{number}")
    await yard.settle()
    assert await yard.count() == 1
    yard.wait(5)
    await yard.settle()
    with pytest.raises(NotFound):
        await yard.node()


async def test_the_controller_deletes_a_node_whose_server_went_before_it_was_initialised():
    yard = Yard(controller=True, controller_delay_seconds=60)
    yard.running()
    await yard.settle()
    yard.cloud.vanish("one")
    await yard.settle()
    assert await yard.count() == 0


async def test_the_controller_leaves_nodes_of_others_alone():
    yard = Yard(controller=True)
    for name, provider_id in (("other", "kwok://other"), ("bare", None), ("robot", "hrobot://7")):
        spec = {"providerID": provider_id} if provider_id else {}
        await yard.cluster.create(NODES, {"metadata": {"name": name}, "spec": spec})
    before = (await yard.cluster.list(NODES)).items
    await yard.settle()
    assert (await yard.cluster.list(NODES)).items == before


async def test_a_kubelet_can_name_its_provider_id_itself():
    yard = Yard()
    number = yard.running(user_data='x="--kubelet-arg=provider-id=hcloud://$id"')
    await yard.settle()
    assert (await yard.node())["spec"]["providerID"] == f"hcloud://{number}"


@pytest.mark.parametrize(
    "text",
    [
        "kubelet --node-labels=a=b,c=d --register-with-taints=x=y:NoSchedule,z:NoExecute --max-pods=30",
        "kubelet '--node-labels=a=b,c=d' \"--register-with-taints=x=y:NoSchedule,z:NoExecute\" '--max-pods=30'",
        "kubelet --node-labels=\"a=b,c=d\" --register-with-taints='x=y:NoSchedule,z:NoExecute' --max-pods 30",
        (
            "k3s agent --quiet --node-label=a=b --node-label c=d --node-taint=x=y:NoSchedule --node-taint z:NoExecute"
            " --kubelet-arg=max-pods=30"
        ),
        (
            "k3s agent --node-label 'a=b' --node-label \"c=d\" --node-taint x=y:NoSchedule --node-taint 'z:NoExecute'"
            " --kubelet-arg '--max-pods=30'"
        ),
        (
            '{"content": "kubelet \\"--node-labels=a=b,c=d\\" --register-with-taints=x=y:NoSchedule,z:NoExecute'
            ' --max-pods=30"}'
        ),
    ],
    ids=["bare", "quoted", "quoted values", "k3s", "k3s with spaces", "text in a text"],
)
def test_flags_are_found_wherever_they_stand(text):
    flags = read_flags(text)
    assert flags.labels == {"a": "b", "c": "d"}
    assert flags.taints == ({"key": "x", "value": "y", "effect": "NoSchedule"}, {"key": "z", "effect": "NoExecute"})
    assert flags.max_pods == 30


def test_without_flags_the_defaults_of_a_kubelet_hold():
    flags = read_flags("#!/bin/sh\n")
    assert (flags.labels, flags.taints, flags.max_pods, flags.is_external) == ({}, (), 110, False)
    assert flags.withheld("memory", "memory.available", Fraction(2**30)) == 100 * 2**20
    assert flags.withheld("ephemeral-storage", "nodefs.available", Fraction(1000)) == 100


def test_one_threshold_switches_the_others_off():
    flags = read_flags(r"kubelet --eviction-hard=memory.available\<1Gi")
    assert flags.withheld("memory", "memory.available", Fraction(2**31)) == 2**30
    assert flags.withheld("ephemeral-storage", "nodefs.available", Fraction(1000)) == 0


async def test_a_kubelet_asks_an_api_server_again_that_did_not_answer(monkeypatch):
    yard = Yard()
    yard.made(user_data=SCRIPT)
    yard.wait(34)

    async def silent(*_given):
        raise Unreachable("away")

    with monkeypatch.context() as patched:
        patched.setattr(yard.cluster, "create", silent)
        with pytest.raises(Unreachable):
            await yard.nodes.step()
    await yard.settle()
    assert await yard.count() == 1


async def test_servers_of_another_cluster_in_the_project_do_not_join_this_one():
    yard = Yard(joins=lambda server: "growth.dev/pool=b" in server.user_data)
    yard.made(user_data=SCRIPT)
    yard.made("two", user_data=EXTERNAL)
    yard.wait(60)
    await yard.settle()
    assert [node["metadata"]["name"] for node in (await yard.cluster.list(NODES)).items] == ["one"]
