"""NodeMetrics of metrics.k8s.io, read as samples of usage.

Source: k8s.io/metrics, v1beta1 NodeMetrics: `timestamp` is the end of the interval of which `usage` is the average.
"""

from collections.abc import Mapping
from typing import Any

from planner.model.usage import UsageSample
from planner.parsing.json_part import FieldError, Part


def read_usage(item: Mapping[str, Any]) -> tuple[str, UsageSample]:
    """Return the name of the Node and what it used.

    Raises:
        FieldError: a field is missing or cannot be read.
    """
    root = Part(item)
    name, at = root.part("metadata").name("name"), root.moment("timestamp")
    if at is None:
        raise FieldError("timestamp", "a time is needed, such as 2026-03-01T12:00:00Z")
    amounts = root.amounts("usage")
    for resource in ("cpu", "memory"):
        if resource not in amounts:
            raise FieldError(f"usage.{resource}", "an amount is needed")
        if amounts[resource] < 0:
            raise FieldError(f"usage.{resource}", "nothing uses less than nothing")
    return name, UsageSample(at, amounts["cpu"], amounts["memory"])
