"""The kustomize base on a control plane, for a worker that is a process of the test, and what its account has asked."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import yaml

from tests.e2e.harness import ControlPlane
from tests.project.deploy_base import one, rendered_base

KEPT = ("CustomResourceDefinition", "Namespace")
"""What other scenarios on the control plane need too."""


@contextmanager
def installed(plane: ControlPlane) -> Iterator[list[dict[str, Any]]]:
    """Apply the base; its worker is the test's process, so its Deployment has no pod."""
    objects = rendered_base()
    given = deepcopy(objects)
    one(given, "Deployment")["spec"]["replicas"] = 0
    plane.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(given))
    try:
        yield objects
    finally:
        rest = [item for item in given if item["kind"] not in KEPT]
        plane.kubectl("delete", "-f", "-", stdin=yaml.safe_dump_all(rest))


def calls(plane: ControlPlane) -> list[dict[str, Any]]:
    """Return what the account has asked so far, as the API server wrote it down."""
    if not plane.audit_log.exists():
        return []
    return [json.loads(line) for line in plane.audit_log.read_text().splitlines()]


def refused(made: list[dict[str, Any]]) -> list[str]:
    """Return the calls that RBAC or a policy forbade, or that came from nobody the API server knows."""
    return [f"{c['verb']} {c['requestURI']}" for c in made if c.get("responseStatus", {}).get("code") in (401, 403)]
