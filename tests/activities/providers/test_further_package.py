"""A package beside Growth brings a provider: its kind is defined, may be used, planned for, bought and removed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from simulator.conformance.provider import CHECKS

ROOT = Path(__file__).resolve().parents[3]
POOL = {
    "apiVersion": "growth.dev/v1alpha1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "serverTypes": [{"name": "drizzle"}],
        "limits": {"max": 3},
        "template": {"classRef": {"kind": "OvercastNodeClass", "name": "grey"}},
    },
}
NODE_CLASS = {
    "apiVersion": "growth.dev/v1alpha1",
    "kind": "OvercastNodeClass",
    "metadata": {"name": "grey"},
    "spec": {"serverTypes": [{"name": "drizzle", "cores": 2, "pricePerHour": "0.0071"}]},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "900m", "memory": "1Gi"}}}]},
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    },
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of installed packages that has the distribution growth-overcast and one that is broken."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(__file__).with_name("overcast"), folder / "overcast")
    install(folder, "growth-overcast", "overcast = overcast.registration:KIND")
    install(folder, "growth-mist", "mist = mist.registration:KIND")
    return folder


def install(folder, name, entry_point):
    """Write what an installer writes beside the modules of a distribution."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[growth.providers]\n{entry_point}\n")


def ran(site, *arguments, stdin="", module="worker.cli"):
    """Return the process of a command line that was run where the packages of a folder are installed."""
    code = f"import sys; sys.argv[0] = 'growth'; from {module} import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*([str(site)] if site else []), str(ROOT)])},
        check=False,
    )


def test_its_definition_is_printed_behind_growth_s_own(site):
    own = [one["spec"]["names"]["kind"] for one in yaml.safe_load_all(ran(None, "crds").stdout)]
    *first, last = yaml.safe_load_all(ran(site, "crds").stdout)
    assert [one["spec"]["names"]["kind"] for one in first] == own
    assert last["metadata"]["name"] == "overcastnodeclasses.growth.dev"
    (version,) = last["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert spec["serverTypes"]["items"]["properties"]["cores"]["minimum"] == 1


def test_the_rights_that_it_needs_are_printed_as_roles(site):
    told = {one["kind"]: one for one in yaml.safe_load_all(ran(site, "rights", "--namespace", "scaling").stdout)}
    assert list(told) == ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert told["ClusterRole"]["rules"] == [
        {"apiGroups": ["growth.dev"], "resources": ["overcastnodeclasses"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["growth.dev"], "resources": ["overcastnodeclasses/status"], "verbs": ["patch"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": ["overcastnodeclasses.growth.dev"],
            "verbs": ["get"],
        },
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["create"]},
    ]
    assert told["Role"]["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    assert told["Role"]["metadata"]["namespace"] == told["RoleBinding"]["metadata"]["namespace"] == "scaling"
    for kind in ("ClusterRole", "Role"):
        binding = told[f"{kind}Binding"]
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (kind, told[kind]["metadata"]["name"])
        assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "growth", "namespace": "scaling"}]


def test_without_a_further_kind_there_are_no_further_rights():
    done = ran(None, "rights")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "growth: no package brings a further kind: deploy/kustomize/base has all rights\n"


def test_plans_and_catalogues_know_it_and_a_broken_package_beside_it_stops_neither(site):
    objects = yaml.safe_dump_all([POOL, NODE_CLASS, POD])
    planned = ran(site, "plan", "-f", "-", "-o", "json", stdin=objects)
    assert planned.returncode == 0
    (bought,) = json.loads(planned.stdout)["requests"]
    assert (bought["serverType"], bought["location"]) == ("drizzle", "cirrus")
    (warning,) = planned.stderr.splitlines()
    assert warning == "provider mist (mist.registration:KIND) cannot be loaded: No module named 'mist'"
    (listed,) = json.loads(ran(site, "catalogue", "-f", "-", "-o", "json", stdin=objects).stdout)["classes"]
    assert (listed["kind"], listed["name"]) == ("OvercastNodeClass", "grey")
    rows = [(row["location"], row["standing"], row["pools"]) for row in listed["offerings"]]
    assert rows == [("cirrus", "Available", ["default"]), ("stratus", "SoldOut", ["default"])]


def test_where_it_is_not_installed_the_pool_says_which_kinds_there_are():
    planned = json.loads(ran(None, "plan", "-f", "-", "-o", "json", stdin=yaml.safe_dump_all([POOL, POD])).stdout)
    (told,) = planned["pools"]
    (ready,) = [one for one in told["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ClassInvalid")
    assert ready["message"] == (
        "OvercastNodeClass/grey of pool default cannot be used: no provider serves the kind OvercastNodeClass; "
        "known: KwokNodeClass and HetznerNodeClass"
    )


def test_it_conforms_and_a_machine_of_it_comes_and_goes(site):
    done = ran(site, module="overcast.trial")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["checks"] == len(CHECKS)
    server_type, location, provider_id = told["server"]
    assert (server_type, location) == ("drizzle", "cirrus")
    assert provider_id.startswith("overcast://0-default-")
    assert told["placement"] == [], "both pods ran on the machine"
    assert told["left"] == []
    assert told["wrong"] == []
