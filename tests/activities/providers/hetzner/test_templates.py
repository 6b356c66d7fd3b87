"""The ready-made sets of objects in deploy/hetzner: rendered as for a real server, and read as its programs would."""

import base64
import re
import shlex
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from activities.objects.nodes import UNREGISTERED
from activities.ports.cluster import SECRETS
from activities.ports.provider import ServerOrder
from activities.providers.hetzner.classes.kubelet import allocatable
from activities.providers.hetzner.classes.user_data import check, given_values, user_data_of
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import NodePool
from simulator.apiserver.cluster import MemoryCluster
from simulator.hetzner.flags import read_flags
from tests.activities.providers.hetzner.join_script import Machine

FOLDER = Path(__file__).resolve().parents[4] / "deploy" / "hetzner"
TEMPLATES = sorted(file.name for file in FOLDER.glob("*.yaml"))
ORDER = ServerOrder(
    name="default-7d9f0a",
    server_type="cx23",
    location="nbg1",
    labels={"growth.dev/cluster": "c"},
    node_labels={"growth.dev/pool": "default", "growth.dev/request-uid": "4f1c", "team": "a"},
    node_taints=[{"key": "dedicated", "value": "shop", "effect": "NoExecute"}, dict(UNREGISTERED)],
)
LABELS = {
    **ORDER.node_labels,
    "node.kubernetes.io/instance-type": "cx23",
    "topology.kubernetes.io/region": "nbg1",
    "csi.hetzner.cloud/location": "nbg1",
    "instance.hetzner.cloud/provided-by": "cloud",
}
JOIN = "/usr/local/sbin/join-cluster"
KEPT = {"k3s.yaml": (400 + 200 + 100) * 2**20, "kubeadm.yaml": (300 + 200 + 100) * 2**20}
"""Bytes of memory: for Kubernetes, for the system, and free before pods are evicted."""


def objects(name: str) -> dict[str, list[dict[str, Any]]]:
    """Return the objects of a template by kind."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for item in yaml.safe_load_all((FOLDER / name).read_text()):
        by_kind.setdefault(item["kind"], []).append(item)
    return by_kind


def class_of(name: str) -> HetznerNodeClass:
    (item,) = objects(name)["HetznerNodeClass"]
    return read(HetznerNodeClass, item)


async def cluster_with_secrets(name: str) -> MemoryCluster:
    cluster = MemoryCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    for item in objects(name)["Secret"]:
        # As the API server stores what comes as stringData.
        coded = {key: base64.b64encode(value.encode()).decode() for key, value in item["stringData"].items()}
        await cluster.create(
            SECRETS, {"metadata": item["metadata"], "data": coded}, namespace=item["metadata"]["namespace"]
        )
    return cluster


async def rendered(name: str) -> str:
    return await user_data_of(await cluster_with_secrets(name), class_of(name), ORDER)


async def files(name: str) -> dict[str, str]:
    """Return what cloud-init writes, by path."""
    config = yaml.safe_load(await rendered(name))
    assert config["runcmd"] == [[JOIN]]
    return {file["path"]: file["content"] for file in config["write_files"]}


def run_shell(script: str, *options: str, **environment: str) -> str:
    """Return what the script prints."""
    done = subprocess.run(
        ["sh", *options],
        input=script,
        env=environment or None,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_kinds_of_cluster_have_one():
    assert TEMPLATES == ["k3s.yaml", "kubeadm.yaml"]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_set_is_complete_and_its_parts_name_each_other(name: str):
    by_kind = objects(name)
    assert set(by_kind) == {"Secret", "Role", "RoleBinding", "HetznerNodeClass", "NodePool"}
    (item,) = by_kind["NodePool"]
    pool = read(NodePool, item)
    assert str(pool.spec.template.class_ref) == f"HetznerNodeClass/{class_of(name).metadata.name}"
    keys = {
        (s["metadata"]["namespace"], s["metadata"]["name"], key) for s in by_kind["Secret"] for key in s["stringData"]
    }
    spec = class_of(name).spec
    refs = [spec.token_secret_ref, *(each.secret_key_ref for each in spec.user_data.variables.values())]
    # Each key is used by something, and each thing that is used has a key.
    assert {(ref.namespace, ref.name, ref.key) for ref in refs if ref is not None} == keys
    # The base lets the worker's account read no Secret: the set grants these alone, by name.
    (role,), (binding,) = by_kind["Role"], by_kind["RoleBinding"]
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret["metadata"]["name"] for secret in by_kind["Secret"]],
            "verbs": ["get"],
        }
    ]
    assert {each["metadata"]["namespace"] for each in (role, binding, *by_kind["Secret"])} == {"growth-system"}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    account = yaml.safe_load((FOLDER.parent / "kustomize" / "base" / "account.yaml").read_text())["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account, "namespace": "growth-system"}]


@pytest.mark.parametrize("name", TEMPLATES)
async def test_no_variable_is_without_value_or_use(name: str):
    await check(await cluster_with_secrets(name), class_of(name))
    text = await rendered(name)
    assert "{{" not in text
    assert text.startswith("#cloud-config\n")
    for secret in objects(name)["Secret"]:
        if secret["metadata"]["name"] != "hcloud":
            assert all(value in text for value in secret["stringData"].values())
        else:
            # The token of the project must never get onto a machine.
            assert all(value not in text for value in secret["stringData"].values())


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_server_registers_with_the_labels_taints_and_amounts_that_plans_count_on(name: str):
    kubelet = class_of(name).spec.kubelet
    flags = read_flags(await rendered(name))
    assert flags.labels == LABELS
    assert flags.taints == tuple(ORDER.node_taints)
    assert flags.refused_labels() == []
    assert flags.names_provider_id
    assert not flags.is_external
    planned = allocatable(2, 4 * 2**30, 40 * 10**9, kubelet)
    assert flags.max_pods == planned["pods"]
    assert 2000 - flags.withheld("cpu", "none", Fraction(2)) * 1000 == planned["cpu"]
    # What a cx23 has of the 4 GiB and 40 GB that are advertised.
    # Source: paperclipinc/karpenter-provider-hetzner, issue 68; itsh-cloud/karpenter-provider-hcloud takes off 2 %.
    memory, disk = Fraction(3814 * 2**20), Fraction(39_200_000_000)
    assert memory * Fraction(9, 10) - KEPT[name] < planned["memory"] <= memory - KEPT[name]
    assert flags.withheld("memory", "memory.available", memory) == KEPT[name]
    assert planned["ephemeral-storage"] <= disk - flags.withheld("ephemeral-storage", "nodefs.available", disk)
    assert flags.eviction["nodefs.available"] == "10%"


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_shell_can_read_the_script(name: str):
    script = (await files(name))[JOIN]
    for text in (script, with_variants(script)):
        run_shell(text, "-n")


def with_variants(script: str) -> str:
    """Return the script with its commented lines of code in force."""
    # Code goes on in lines that stand further to the right; a sentence starts with a capital letter.
    return re.sub(r"^# (?=try '|further=|has_address|\}|  )", "", script, flags=re.MULTILINE)


@pytest.mark.parametrize("name", TEMPLATES)
async def test_the_variants_for_a_cloud_controller_manager_and_a_private_network_are_flags(name: str):
    (item,) = objects(name)["HetznerNodeClass"]
    template = item["spec"]["userData"]["template"]
    assert ("- name: cloud-provider" in template) == (name == "kubeadm.yaml")
    changed = with_variants((await files(name))[JOIN])
    assert 'further="$further --node-ip=$address"' in changed.splitlines()
    assert read_flags(changed).is_external == (name == "k3s.yaml")


@pytest.mark.parametrize(
    ("changed", "further"),
    [
        (str, []),
        (with_variants, ["--node-ip=10.0.1.2", "--kubelet-arg=cloud-provider=external"]),
    ],
)
async def test_the_k3s_installer_gets_each_flag_as_one_word(
    tmp_path: Path, changed: Callable[[str], str], further: list[str]
):
    # What the installer has of its surroundings, and its words.
    says = ("echo $INSTALL_K3S_VERSION $K3S_URL $K3S_TOKEN $INSTALL_K3S_SKIP_START", 'printf "%s\\n" "$@"')
    machine = Machine(tmp_path, install_k3s=["; ".join(says)])
    assert machine.run(changed((await files("k3s.yaml"))[JOIN])) == 0
    environment, *words = machine.printed.splitlines()
    assert environment == "v1.34.1+k3s1 https://ADDRESS-OF-THE-SERVER:6443 TOKEN-FOR-AGENTS true"
    given = given_values(class_of("k3s.yaml").spec.kubelet, ORDER)["k3s.args"]
    assert words == [
        "agent",
        "--node-name=default-7d9f0a",
        "--kubelet-arg=provider-id=hcloud://4711",
        *further,
        *shlex.split(given),
    ]
    assert {f"--node-label={key}={value}" for key, value in LABELS.items()} <= set(words)
    assert words[-1].startswith("--kubelet-arg=eviction-hard=memory.available<100Mi,")


async def test_kubeadm_joins_by_name_and_leaves_the_taints_to_the_flags():
    # Source: Kubernetes docs, "kubeadm Configuration (v1beta4)", JoinConfiguration: a kubelet's further arguments are
    # a list of name and value.
    written = (await files("kubeadm.yaml"))["/etc/kubernetes/join.yaml"]
    join = yaml.safe_load(written)
    assert (join["apiVersion"], join["kind"]) == ("kubeadm.k8s.io/v1beta4", "JoinConfiguration")
    assert join["discovery"]["bootstrapToken"] == {
        "apiServerEndpoint": "ADDRESS-OF-THE-API-SERVER:6443",
        "token": "BOOTSTRAP-TOKEN",
        "caCertHashes": ["SHA256-OF-THE-CA"],
    }
    assert join["nodeRegistration"]["name"] == "default-7d9f0a"
    assert join["nodeRegistration"]["taints"] == []
    external = yaml.safe_load(re.sub(r"# (?=kubeletExtraArgs|  - name:|    value:)", "", written))
    assert external["nodeRegistration"]["kubeletExtraArgs"] == [{"name": "cloud-provider", "value": "external"}]


async def test_the_file_that_kubeadms_unit_reads_gives_each_flag_as_one_word(tmp_path: Path):
    script = (await files("kubeadm.yaml"))[JOIN]
    (heredoc,) = re.findall(r"^cat >/etc/default/kubelet <<END\n.*?^END\n", script, re.MULTILINE | re.DOTALL)
    target = tmp_path / "kubelet"
    written = heredoc.replace("/etc/default/kubelet", str(target))
    run_shell(f'further="--provider-id=hcloud://4711"\n{written}', "-eu")
    (line,) = target.read_text().splitlines()
    # systemd splits `$KUBELET_EXTRA_ARGS` at spaces and takes quotes off, as a shell does.
    # Source: systemd.service(5), "Command Lines".
    words = shlex.split(line.removeprefix("KUBELET_EXTRA_ARGS="))
    given = given_values(class_of("kubeadm.yaml").spec.kubelet, ORDER)["kubelet.args"]
    assert words == ["--provider-id=hcloud://4711", *shlex.split(given)]
    assert "--register-with-taints=dedicated=shop:NoExecute,growth.dev/unregistered:NoSchedule" in words
