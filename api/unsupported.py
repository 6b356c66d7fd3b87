"""Fields of a NodePool that have a name already and that nothing obeys yet: writing one is refused.

The API server drops a field that it does not know, and tells only those who ask it to, as kubectl does. A
field that is declared with a rule against it is refused for everyone. Its type is as wide as a definition
may have it, so that the rule speaks and not the type.
Source: Kubernetes documentation, "Custom resources: field pruning" and "API concepts: field validation".
"""

from collections.abc import Mapping
from typing import Any, Final

from api.rules import RULES, Schema, rule

UNSUPPORTED: Final = "x-growth-unsupported"
"""In a model's JSON schema: the schemas of these fields by name, which the model itself does not have."""
NOT_YET: Final = "is not supported yet; leave it out"

FLAG: Final[Schema] = {"type": "boolean"}
VALUE: Final[Schema] = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
"""A number, a duration or a word."""
PART: Final[Schema] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
LIST: Final[Schema] = {"type": "array", "items": VALUE}
PARTS: Final[Schema] = {"type": "array", "items": PART}


def unsupported(**forms: Schema) -> Schema:
    """Return the part of a model's JSON schema that refuses these fields, given by their names in the API."""
    return {UNSUPPORTED: {name: _refused(name, form) for name, form in forms.items()}}


def is_unsupported(schema: Mapping[str, Any], name: object) -> bool:
    """Return whether a model of this JSON schema refuses a field of this name as not supported yet."""
    return name in schema.get(UNSUPPORTED, {})


def _refused(name: str, form: Schema) -> Schema:
    return {
        "description": f"Not supported yet: {name} must be left out.",
        **form,
        RULES: [rule("false", f"{name} {NOT_YET}")],
    }


OF_SPEC: Final = unsupported(
    dryRun=FLAG,
    selector=PART,
    health=PART,
    schedule=PARTS,
)
OF_TEMPLATE: Final = unsupported(startupTaint=FLAG)
OF_SCALE_UP: Final = unsupported(
    estimators=LIST,
    thresholdPercent=VALUE,
    starvation=FLAG,
    batchMax=VALUE,
    maxInFlight=VALUE,
    podGrace=VALUE,
    lock=PART,
    cooldown=VALUE,
    breaker=PART,
)
OF_SCALE_DOWN: Final = unsupported(
    group=PART,
    node=PART,
    cooldownAfterScaleUp=VALUE,
    cooldownAfterScaleDown=VALUE,
    maxDeletesPerRound=VALUE,
    order=VALUE,
    safety=PART,
    taintEffect=VALUE,
)
