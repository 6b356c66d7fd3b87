"""The admission policies of the base, as far as they can be judged without an API server: names, and overlays."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cel
import pytest
import yaml

from activities.providers.kwok.startup import FAKE, READY_DELAY
from api import keys
from tests.project.deploy_base import BASE, one, rendered_base
from tests.project.documents import ROOT, blocks
from tests.tables import rows

NAMED = (
    keys.TAINT_UNREGISTERED,
    keys.TAINT_RESERVED,
    keys.TAINT_SCALE_DOWN,
    keys.LABEL_REQUEST,
    keys.LABEL_EXCLUDED,
    keys.LABEL_HARD_GRACE_OVER,
    keys.ANNOTATION_DO_NOT_REMOVE,
    keys.FINALIZER,
    READY_DELAY,
    *FAKE,
)
"""What policies say of keys that the code has by these names."""
POLICIES = {"growth-deleted-pods", "growth-nodes", "growth-pods", "growth-pools"}


@pytest.fixture(scope="module")
def policies() -> list[dict[str, Any]]:
    return [item for item in rendered_base() if item["kind"] == "ValidatingAdmissionPolicy"]


def rendered(folder: Path, overlay: str) -> list[dict[str, Any]]:
    """Return the objects of an overlay on the base, in a folder anywhere."""
    # kustomize takes no absolute path.
    text = overlay.replace("../deploy/kustomize/base", os.path.relpath(BASE, folder))
    (folder / "kustomization.yaml").write_text(text)
    command = [str(Path(sys.prefix) / "bin" / "kubectl"), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def documented(folder: str) -> str:
    """Return the overlay that docs/operations.md shows for the folder."""
    (text,) = (
        block.text for block in blocks("docs/operations.md") if block.text.startswith(f"# {folder}/kustomization")
    )
    return text


def test_each_policy_acts(policies):
    assert {item["metadata"]["name"] for item in policies} == POLICIES
    bindings = [item for item in rendered_base() if item["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert {item["spec"]["policyName"] for item in bindings} == POLICIES
    assert all(item["spec"]["validationActions"] == ["Deny"] for item in bindings)
    # Without a parameter there is nobody whom the policy is about: all others must go on.
    assert all(item["spec"]["paramRef"]["parameterNotFoundAction"] == "Allow" for item in bindings)
    for item in policies:
        assert item["spec"]["failurePolicy"] == "Fail"
        assert all(each["reason"] == "Forbidden" for each in item["spec"]["validations"] if "reason" in each)


def test_the_policies_of_the_account_find_it_alike_by_the_binding_of_its_role(policies):
    of_account = [item for item in policies if item["spec"]["paramKind"]["kind"] == "ClusterRoleBinding"]
    assert len(of_account) == 3
    (condition,) = {str(item["spec"]["matchConditions"]) for item in of_account}
    assert "growth-system" not in condition
    labels = one(rendered_base(), "ClusterRoleBinding")["metadata"]["labels"]
    assert labels[keys.LABEL_BOUNDED] == "true"
    names = {item["metadata"]["name"] for item in of_account}
    for item in rendered_base():
        if item["kind"] == "ValidatingAdmissionPolicyBinding" and item["metadata"]["name"] in names:
            assert item["spec"]["paramRef"]["selector"]["matchLabels"].items() <= labels.items()


def test_the_keys_in_the_policies_are_those_of_the_code(policies):
    text = yaml.safe_dump_all(policies, width=10_000)
    for key in NAMED:
        assert key in text
    known = {value for value in vars(keys).values() if isinstance(value, str)}
    assert set(re.findall(r"growth\.dev/[a-z-]+", text)) <= known
    assert f'== "{keys.EXCLUDED_BY_GROWTH}"' in text


@rows(
    ("is_new", "before", "after", "allowed"),
    {
        "Growth's own on its machine": (False, {}, {"growth.dev/currency": "EUR"}, True),
        "the pool's while it registers": (True, {"a": "b"}, {"a": "c", "example.com/team": "shop"}, True),
        "the pool's later": (False, {}, {"example.com/team": "shop"}, False),
        "one of kubelets while it registers": (True, {}, {"node.alpha.kubernetes.io/ttl": "1"}, False),
        "that of KWOK while it registers": (True, {}, {"kwok.x-k8s.io/node": "fake"}, False),
        "one less while it registers": (True, {"a": "b"}, {}, False),
    },
)
def test_which_annotations_of_a_node_the_account_may_change(policies, is_new, before, after, allowed):
    (policy,) = (each for each in policies if each["metadata"]["name"] == "growth-nodes")
    (rule,) = (each for each in policy["spec"]["validations"] if "may change annotations that" in each["message"])
    variables = {
        "isUpdate": True,
        "isNew": is_new,
        "isGrowths": True,
        "isKwoks": False,
        "oldAnnotations": before,
        "newAnnotations": after,
    }
    assert cel.evaluate(rule["expression"], {"variables": variables}) is allowed


def test_the_overlay_for_another_namespace_takes_all_rights_along(tmp_path):
    objects = rendered(tmp_path, documented("elsewhere"))
    account = one(objects, "ServiceAccount")["metadata"]
    assert (account["name"], account["namespace"]) == ("growth", "elsewhere")
    assert one(objects, "Namespace")["metadata"]["name"] == "elsewhere"
    for kind in ("RoleBinding", "ClusterRoleBinding"):
        subject = {"kind": "ServiceAccount", "name": "growth", "namespace": "elsewhere"}
        assert one(objects, kind)["subjects"] == [subject]
    assert "growth-system" not in yaml.safe_dump_all(item for item in objects if "Definition" not in item["kind"])


def test_the_overlay_for_kubernetes_before_1_30_has_no_policy_and_all_else(tmp_path):
    kinds = [item["kind"] for item in rendered(tmp_path, documented("before-1.30"))]
    assert not [kind for kind in kinds if "Admission" in kind]
    assert len(kinds) == len([item for item in rendered_base() if "Admission" not in item["kind"]])


def test_no_role_of_the_base_reads_a_secret():
    roles = [item for item in rendered_base() if item["kind"] in ("Role", "ClusterRole")]
    assert [rule for role in roles for rule in role["rules"] if "secrets" in rule["resources"]] == []
    assert (ROOT / "deploy" / "hetzner" / "k3s.yaml").exists(), "the message on a missing right names it"
