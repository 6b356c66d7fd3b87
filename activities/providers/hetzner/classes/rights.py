"""The sentence on a right that is missing: the base lets Growth read no Secret, so each class brings its own.

Source: docs/operations.md#secrets-that-a-class-names.
"""

from activities.ports.cluster import Resource
from activities.ports.errors import Forbidden


def missing_right(error: Forbidden, resource: Resource, namespace: str, name: str) -> str:
    """Return who lacks the right to read the object, and which role grants it."""
    return (
        f"{error.user} may not get {resource.kind} {namespace}/{name}: grant that by a Role in namespace {namespace} "
        f"with resources: [{resource.plural}], resourceNames: [{name}] and verbs: [get], bound to that account, "
        "as deploy/hetzner/k3s.yaml does"
    )
