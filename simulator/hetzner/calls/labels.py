"""Labels and label selectors of the Hetzner Cloud API.

Source: Hetzner Cloud API, "Labels" and "Label Selector".
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from activities.ports.errors import Rejected
from simulator.apiserver.selectors import label_selector
from simulator.hetzner.reply import invalid

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RESERVED: Final = "hetzner.cloud"


def check_labels(labels: Any) -> dict[str, str]:
    """Return the labels of a request; without any, none.

    Raises:
        Refusal: a key or a value cannot be one.
    """
    if labels is None:
        return {}
    if not isinstance(labels, dict):
        raise invalid("labels", "must be an object")
    for key, value in labels.items():
        prefix, slash, name = str(key).rpartition("/")
        if (slash and not _PREFIX.fullmatch(prefix)) or not _NAME.fullmatch(name):
            raise invalid("labels", f"{key!r} is not a valid key")
        if prefix == _RESERVED:
            raise invalid("labels", f"{key!r}: the prefix {_RESERVED}/ is reserved")
        if not isinstance(value, str) or (value and not _NAME.fullmatch(value)):
            raise invalid("labels", f"{value!r} is not a valid value of {key!r}")
    return dict(labels)


def selected(selector: str | None) -> Callable[[Mapping[str, str]], bool]:
    """Return whether labels are selected; without a selector, all are.

    Raises:
        Refusal: it is not a selector.
    """
    try:
        matches = label_selector(selector or "")
    except Rejected as error:
        raise invalid("label_selector", str(error)) from error
    return lambda labels: matches({"metadata": {"labels": dict(labels)}})
