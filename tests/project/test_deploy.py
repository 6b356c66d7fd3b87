"""What a cluster is given, as far as it can be judged without one: the base rendered, the image's recipe read."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from api.keys import LABEL_POOL
from tests.project.deploy_base import ROOT, one, rendered_base
from tests.project.image import INSTRUCTIONS, commands, copied
from worker.settings import Settings
from worker.solver.child import COMPILED

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def base():
    return rendered_base()


@pytest.fixture(scope="module")
def pod(base):
    return one(base, "Deployment")["spec"]["template"]


def test_the_definitions_are_the_generated_ones(base):
    generated = [yaml.safe_load(file.read_text()) for file in (ROOT / "deploy" / "crds").glob("*.yaml")]
    included = [item for item in base if item["kind"] == "CustomResourceDefinition"]
    assert len(generated) >= 4
    specs = {item["metadata"]["name"]: item["spec"] for item in generated}
    assert {item["metadata"]["name"]: item["spec"] for item in included} == specs
    (watched,) = (rule for rule in one(base, "ClusterRole")["rules"] if "apiextensions.k8s.io" in rule["apiGroups"])
    assert set(watched["resourceNames"]) == set(specs)


def test_the_environment_is_settings(pod):
    (container,) = pod["spec"]["containers"]
    given = {entry["name"]: entry.get("value") for entry in container["env"]}
    ours = {name.removeprefix("GROWTH_").lower() for name in given if name.startswith("GROWTH_")}
    assert ours <= set(Settings.model_fields)
    assert len(ours) >= 5
    # Variables that point at others point at earlier ones: those that come later are left as text.
    seen: list[str] = []
    for entry in container["env"]:
        assert set(re.findall(r"\$\((\w+)\)", entry.get("value", ""))) <= set(seen)
        seen.append(entry["name"])


def test_the_environment_makes_the_settings_that_are_meant(pod, monkeypatch):
    downward = {"metadata.namespace": "growth-system", "metadata.name": "growth-7d9-x2b"}
    values: dict[str, str] = {}
    for entry in pod["spec"]["containers"][0]["env"]:
        text = entry["value"] if "value" in entry else downward[entry["valueFrom"]["fieldRef"]["fieldPath"]]
        values[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda found: values[found[1]], text)
        monkeypatch.setenv(entry["name"], values[entry["name"]])
    settings = Settings()
    assert settings.own_pods == {"growth-system/growth-7d9-x2b"}
    assert settings.namespace == "growth-system"
    assert settings.embedded_temporal
    assert settings.http_address == "0.0.0.0:8080"
    (data,) = (mount for mount in pod["spec"]["containers"][0]["volumeMounts"] if mount["name"] == "data")
    assert data["mountPath"] == str(settings.data_dir)


def test_the_pod_meets_the_restricted_standard(base, pod):
    """Source: Kubernetes docs, "Pod Security Standards", Restricted; the API server's own judgement is in tests/e2e."""
    spec = pod["spec"]
    assert one(base, "Namespace")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert all({"persistentVolumeClaim", "emptyDir"} & set(volume) for volume in spec["volumes"])
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True
        assert not any("hostPort" in port for port in container["ports"])


def test_names_and_labels_hold_together(base, pod):
    deployment = one(base, "Deployment")
    labels = pod["metadata"]["labels"].items()
    assert deployment["spec"]["selector"]["matchLabels"].items() <= labels
    assert one(base, "Service")["spec"]["selector"].items() <= labels
    assert one(base, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels
    account = one(base, "ServiceAccount")["metadata"]
    assert pod["spec"]["serviceAccountName"] == account["name"]
    for kind in ("Role", "ClusterRole"):
        binding = one(base, f"{kind}Binding")
        assert binding["roleRef"]["kind"] == kind
        assert binding["roleRef"]["name"] == one(base, kind)["metadata"]["name"]
        subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}
        assert binding["subjects"] == [subject]
    (claimed,) = (v["persistentVolumeClaim"]["claimName"] for v in pod["spec"]["volumes"] if v["name"] == "data")
    assert claimed == one(base, "PersistentVolumeClaim")["metadata"]["name"]
    (container,) = pod["spec"]["containers"]
    assert container["image"] == f"growth:{PROJECT['project']['version']}"
    assert pod["metadata"]["labels"]["app.kubernetes.io/version"] == PROJECT["project"]["version"]
    assert all(item["metadata"]["labels"]["app.kubernetes.io/part-of"] == "growth" for item in base)


def test_no_second_worker_comes_before_the_first_is_gone_and_none_runs_on_a_bought_machine(base, pod):
    deployment = one(base, "Deployment")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [{"matchExpressions": [{"key": LABEL_POOL, "operator": "DoesNotExist"}]}]


def test_no_right_is_a_wildcard(base):
    for kind in ("Role", "ClusterRole"):
        for rule in one(base, kind)["rules"]:
            assert set(rule) <= {"apiGroups", "resources", "resourceNames", "verbs"}
            assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}


def test_the_image_is_made_of_what_is_there_and_sent():
    sources = copied()
    assert {"pyproject.toml", "requirements/run.txt"} <= set(sources)
    assert all((ROOT / source).exists() for source in sources)
    ignored, *admitted = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")
    ]
    assert ignored == "*"
    assert {f"!{source.split('/')[0]}" for source in sources} == {line for line in admitted if line.startswith("!")}


def test_the_image_starts_the_worker_as_the_pod_expects(pod):
    given = dict(INSTRUCTIONS)
    (program,) = yaml.safe_load(given["ENTRYPOINT"])
    assert program in PROJECT["project"]["scripts"]
    assert yaml.safe_load(given["CMD"]) == pod["spec"]["containers"][0]["args"] == ["run"]
    context = pod["spec"]["securityContext"]
    assert given["USER"] == f"{context['runAsUser']}:{context['runAsGroup']}"
    variables = dict(pair.split("=", 1) for pair in shlex.split(given["ENV"]))
    mounts = {mount["mountPath"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
    assert variables["GROWTH_DATA_DIR"] in mounts
    assert given["EXPOSE"] == str(pod["spec"]["containers"][0]["ports"][0]["containerPort"])


def test_kernels_are_compiled_for_every_node_and_found_where_the_pod_may_write(pod):
    (build,) = (rest for name, rest in INSTRUCTIONS if name == "RUN" and "warm()" in rest)
    at_build = dict(word.split("=", 1) for word in shlex.split(build) if word.startswith("NUMBA_"))
    variables = dict(pair.split("=", 1) for pair in shlex.split(dict(INSTRUCTIONS)["ENV"]))
    assert at_build["NUMBA_CACHE_DIR"] == str(Path("/opt/growth") / COMPILED.relative_to(sys.prefix))
    # Where they differ, nothing that was compiled is found.
    assert at_build["NUMBA_CPU_NAME"] == variables["NUMBA_CPU_NAME"] == "generic"
    # In a folder that goes with its pod, for it must not outlive its image.
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in pod["spec"]["containers"][0]["volumeMounts"]}
    assert "emptyDir" in volumes[mounts[str(Path(variables["NUMBA_CACHE_DIR"]).parent)]]


def test_only_hashed_packages_get_into_the_image():
    installs = commands(" install ")
    assert len(installs) == 3
    assert all("--require-hashes -r requirements/" in part or "--no-deps --no-index" in part for part in installs)
