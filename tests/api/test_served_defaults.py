"""What the API server adds to objects that do not mention it: a worker of an earlier version must know all of it.

It refuses a field that it does not know, so after an upgrade of the definitions, or a worker that is taken back, a
default of a new field would make every pool unreadable. A new field has none: None stands for its absence.
"""

import pytest

from tests.api.cel_rules import SCHEMAS

SERVED = {
    "HetznerNodeClass": """
        tokenSecretRef.key imageByArchitecture sshKeys networks firewalls placement placement.strategy
        placement.required
        enableIPv4 enableIPv6 locations kubelet kubelet.maxPods kubelet.evictionMemory kubelet.evictionStoragePercent
    """,
    "KwokNodeClass": """
        currency serverTypes[].architecture serverTypes[].locations[].available serverTypes[].locations[].bootTime
        faults faults[].error faults[].lostReply
    """,
    "NodePool": """
        serverTypes[].min serverTypes[].priority limits limits.min template template.classRef template.classRef.kind
        template.classRef.name template.taints template.taints[].value scaleUp scaleUp.reserve
        scaleUp.provisioningTimeout scaleUp.joinTimeout scaleUp.unavailableTTL scaleUp.failedTTL scaleUp.recordTTL
        scaleUp.podBackoff scaleUp.podBackoff.afterRounds scaleUp.podBackoff.base scaleUp.podBackoff.max scaleDown
        scaleDown.mode scaleDown.idleAfter scaleDown.softGrace scaleDown.removal scaleDown.removal.maxAttempts
        scaleDown.removal.retry scaleDown.removal.parkedRetry
    """,
    "NodeRemovalRequest": "classRef.kind classRef.name reason immediate replacedBy",
    "NodeRequest": "classRef.kind classRef.name reservedFor reservedFor[].owner reservedFor[].class",
}
"""Of version 0.1.0, by kind."""


def served(schema, path=""):
    """Yield the fields that are added wherever the object around them is there."""
    required = set(schema.get("required", []))
    for name, below in schema.get("properties", {}).items():
        if "default" in below:
            yield f"{path}{name}"
        if "default" in below or name in required:
            yield from served(below, f"{path}{name}.")
    if "items" in schema:
        yield from served(schema["items"], f"{path.removesuffix('.')}[].")


@pytest.mark.parametrize("kind", SERVED)
def test_no_new_field_is_added_to_objects_that_do_not_mention_it(kind):
    assert set(served(SCHEMAS[kind]["properties"]["spec"])) == set(SERVED[kind].split())
