"""Forms of names, label values and label maps, so that what is accepted can also be put on a Node.

Source: Kubernetes "Object Names and IDs" (DNS label), "Labels and Selectors" (syntax of keys and values).
"""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, WithJsonSchema

from api.keys import (
    GROUP,
    LABEL_ARCH,
    LABEL_HOSTNAME,
    LABEL_INSTANCE_TYPE,
    LABEL_OS,
    LABEL_REGION,
    LABEL_ZONE,
)
from api.rules import RULES, Text, rule

_LABEL_VALUE: Final = Text(
    pattern="^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
    longest=63,
    form='letters, digits, "-", "_" and ".", at most 63, starting and ending with a letter or digit',
)
_LABEL_VALUE_OR_EMPTY: Final = Text(
    pattern=f"^({_LABEL_VALUE.pattern[1:-1]})?$", longest=63, form=f"empty or {_LABEL_VALUE.form}"
)
_KEY_FORM: Final = Text(
    pattern=f"^([a-z0-9]([-a-z0-9.]{{0,251}}[a-z0-9])?/)?{_LABEL_VALUE.pattern[1:-1]}$",
    longest=317,
    form='a label key, such as "team" or "example.com/team"',
)
_OURS: Final = f"{GROUP}/"
_OWN_KEYS: Final = f"keys under {_OURS} are Growth's own"
_OF_MACHINES: Final = (LABEL_HOSTNAME, LABEL_ARCH, LABEL_OS, LABEL_INSTANCE_TYPE, LABEL_REGION, LABEL_ZONE)
"""Another value for one of these would make the scheduler believe in a machine that is not there."""
_SET_BY_MACHINES: Final = f"each machine has its own value of {', '.join(_OF_MACHINES)}"
_MOST_LABELS: Final = 50
_MOST_ANNOTATIONS: Final = 50
_LONGEST_ANNOTATION: Final = 1024
"""So many of this length, of four bytes a character, leave room in the 256 KiB that an object has for them."""
_OF_KUBERNETES: Final = ("kubernetes.io/", "k8s.io/")
_KUBERNETES_KEYS: Final = "keys of kubernetes.io/ and k8s.io/, and of domains that end so, say what others have done"


def dns_label(longest: int) -> Text:
    """Return the form of a name that can be a host name, a label value and a taint value."""
    return Text(
        pattern=f"^[a-z0-9]([-a-z0-9]{{0,{longest - 2}}}[a-z0-9])?$",
        longest=longest,
        form=f'lower-case letters, digits and "-", at most {longest}, starting and ending with a letter or digit',
    )


def _not_ours(key: str) -> str:
    if key.startswith(_OURS):
        msg = f"{key!r}: {_OWN_KEYS}"
        raise ValueError(msg)
    return key


def _check_labels(labels: dict[str, str]) -> dict[str, str]:
    if len(labels) > _MOST_LABELS:
        msg = f"{len(labels)} labels: at most {_MOST_LABELS}"
        raise ValueError(msg)
    for key, value in labels.items():
        _KEY_FORM.check(_not_ours(key))
        if key in _OF_MACHINES:
            msg = f"{key!r}: {_SET_BY_MACHINES}"
            raise ValueError(msg)
        if not re.fullmatch(_LABEL_VALUE_OR_EMPTY.pattern, value):
            msg = f"{key}: {value!r} must be {_LABEL_VALUE_OR_EMPTY.form}"
            raise ValueError(msg)
    return labels


def _check_annotations(annotations: dict[str, str]) -> dict[str, str]:
    if len(annotations) > _MOST_ANNOTATIONS:
        msg = f"{len(annotations)} annotations: at most {_MOST_ANNOTATIONS}"
        raise ValueError(msg)
    for key, value in annotations.items():
        _KEY_FORM.check(_not_ours(key))
        if any(domain in key for domain in _OF_KUBERNETES):
            msg = f"{key!r}: {_KUBERNETES_KEYS}"
            raise ValueError(msg)
        if len(value) > _LONGEST_ANNOTATION:
            msg = f"{key}: the value must have at most {_LONGEST_ANNOTATION} characters"
            raise ValueError(msg)
    return annotations


LabelValue = Annotated[str, _LABEL_VALUE]
"""A name that becomes the value of a label."""

OptionalLabelValue = Annotated[str, _LABEL_VALUE_OR_EMPTY]
"""The value of a label or taint; may be empty."""

TaintKey = Annotated[
    str,
    _KEY_FORM,
    AfterValidator(_not_ours),
    WithJsonSchema(_KEY_FORM.schema(rule(f"!self.startsWith('{_OURS}')", _OWN_KEYS))),
]
"""The key of a taint that a user sets."""

Labels = Annotated[
    dict[str, str],
    AfterValidator(_check_labels),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": _MOST_LABELS,
            "additionalProperties": _LABEL_VALUE_OR_EMPTY.schema(),
            RULES: [
                rule(f"self.all(key, key.matches('{_KEY_FORM.pattern}'))", f"each key must be {_KEY_FORM.form}"),
                rule(f"self.all(key, !key.startsWith('{_OURS}'))", _OWN_KEYS),
                rule(f"!self.exists(key, key in {list(_OF_MACHINES)})", _SET_BY_MACHINES),
            ],
        }
    ),
]
"""Labels that a user sets on Nodes."""

Annotations = Annotated[
    dict[str, str],
    AfterValidator(_check_annotations),
    WithJsonSchema(
        {
            "type": "object",
            "maxProperties": _MOST_ANNOTATIONS,
            "additionalProperties": {"type": "string", "maxLength": _LONGEST_ANNOTATION},
            RULES: [
                rule(f"self.all(key, key.matches('{_KEY_FORM.pattern}'))", f"each key must be {_KEY_FORM.form}"),
                rule(f"self.all(key, !key.startsWith('{_OURS}'))", _OWN_KEYS),
                rule(
                    " && ".join(f"self.all(key, !key.contains('{domain}'))" for domain in _OF_KUBERNETES),
                    _KUBERNETES_KEYS,
                ),
            ],
        }
    ),
]
"""Annotations that a user sets on Nodes."""
