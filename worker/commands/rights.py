"""`growth rights`: what a worker may do for the kinds of node class that other packages bring, as RBAC objects."""

import sys
from typing import Any

import yaml

from activities.ports.provider_kind import rights_on
from activities.providers.kinds import provider_kinds
from api.definitions import DEFINITIONS
from worker.settings import load

_NAME = "growth-providers"
"""Beside `growth`, whose rights are in deploy/kustomize/base."""
_ACCOUNT = "growth"
_GROUP = "rbac.authorization.k8s.io"


def rights(*, namespace: str | None = None) -> int:
    """Print the roles that a worker needs for kinds of other packages: `growth rights | kubectl apply -f -`.

    What it needs for the built-in kinds is in deploy/kustomize/base.

    Args:
        namespace: Kubernetes namespace of Growth's own objects and of its service account; default growth-system.

    Returns:
        The exit code, 0.
    """
    given = {} if namespace is None else {"namespace": namespace}
    own = {definition.kind for definition in DEFINITIONS}
    further = tuple(kind for kind in provider_kinds() if kind.kind not in own)
    if not further:
        print("growth: no package brings a further kind: deploy/kustomize/base has all rights", file=sys.stderr)
        return 0
    cluster_rules, namespace_rules = rights_on(further)
    where = load(**given).namespace
    objects = _role("ClusterRole", cluster_rules, where)
    if namespace_rules:
        objects += _role("Role", namespace_rules, where)
    print(yaml.safe_dump_all(objects, sort_keys=False), end="")
    return 0


def _role(kind: str, rules: list[dict[str, Any]], namespace: str) -> list[dict[str, Any]]:
    """Return a role and its binding to the worker's account."""
    metadata = {"name": _NAME} | ({"namespace": namespace} if kind == "Role" else {})
    return [
        {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{_GROUP}/v1",
            "kind": f"{kind}Binding",
            "metadata": dict(metadata),
            "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": _NAME},
            "subjects": [{"kind": "ServiceAccount", "name": _ACCOUNT, "namespace": namespace}],
        },
    ]
