"""Wrong objects on a real API server: each is refused with our words, whatever it is sent with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.api.objects import Object, pool
from tests.api.wrong_objects import WRONG_OBJECTS
from tests.e2e.api_server import Refused
from tests.e2e.harness import ControlPlane

pytestmark = pytest.mark.e2e

THRESHOLD = pool(name="wrong-objects", scaleDown={"utilizationThreshold": 0.5})
UNKNOWN = 'unknown field "spec.scaleDown.utilizationThreshold"'


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> ControlPlane:
    control_plane.apply_definitions()
    return control_plane


def refusal(cluster: ControlPlane, *arguments: str, given: Object | None = None) -> str:
    with pytest.raises(AssertionError) as caught:
        cluster.kubectl(*arguments, stdin=None if given is None else json.dumps(given))
    return str(caught.value)


def refused(cluster: ControlPlane, given: Object, validation: str = "Strict") -> Refused:
    """Return how the API server refuses an object that is sent as kubectl sends it."""
    with pytest.raises(Refused) as caught:
        cluster.api.create(given, dryRun="All", fieldValidation=validation)
    return caught.value


def warnings(cluster: ControlPlane, *arguments: str, given: Object) -> tuple[str, str]:
    """Return what kubectl prints, and what it prints beside that."""
    kubectl = [Path(sys.prefix) / "bin" / "kubectl", "--kubeconfig", cluster.kubeconfig]
    done = subprocess.run([*kubectl, *arguments], input=json.dumps(given), capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


@pytest.mark.parametrize("name", WRONG_OBJECTS)
def test_a_wrong_object_is_refused_with_our_words(cluster, name):
    wrong = WRONG_OBJECTS[name]
    refusal = refused(cluster, wrong.given)
    assert wrong.says in str(refusal)
    if wrong.by_rule and "a.b" not in str(refusal):
        assert len(refusal.causes) == 1, "one fault is told of in one line"


def test_a_patch_to_what_is_wrong_is_refused_and_null_takes_a_field_away(cluster):
    cluster.kubectl("apply", "--filename=-", stdin=json.dumps(pool(name="wrong-objects")))
    try:
        patch = json.dumps({"spec": {"scaleDown": {"node": {"cpuPercent": 500}}}})
        message = refusal(cluster, "patch", "gnp", "wrong-objects", "--type=merge", f"--patch={patch}")
        assert "spec.scaleDown.node.cpuPercent: Invalid value" in message
        # Null is how a field is taken away, and how its absence may be written.
        cluster.kubectl("patch", "gnp", "wrong-objects", "--type=merge", '--patch={"spec":{"scaleDown":{"node":null}}}')
    finally:
        cluster.kubectl("delete", "gnp", "wrong-objects")


@pytest.mark.parametrize(
    "arguments",
    [("create",), ("apply",), ("apply", "--server-side")],
    ids=" ".join,
)
def test_an_unknown_field_is_refused_by_kubectl(cluster, arguments):
    message = refusal(cluster, *arguments, "--dry-run=server", "--filename=-", given=THRESHOLD)
    assert UNKNOWN in message or "utilizationThreshold: field not declared in schema" in message


def test_an_unknown_field_from_another_client_is_dropped_with_a_warning(cluster):
    """What the API server does for a client that says nothing about validation."""
    printed, beside = warnings(
        cluster, "create", "--dry-run=server", "--validate=warn", "-ojson", "--filename=-", given=THRESHOLD
    )
    assert "utilizationThreshold" not in json.loads(printed)["spec"]["scaleDown"]
    assert f"Warning: {UNKNOWN}" in beside
