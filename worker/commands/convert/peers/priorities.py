"""The ConfigMap of Cluster Autoscaler's priority expander: which priority a group's name has.

Source: kubernetes/autoscaler, cluster-autoscaler/expander/priority/readme.md: of all that match, the highest wins.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from worker.commands.convert.fields import BadSetting, quoted
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.peer_setting import Remarks
from worker.commands.convert.pools import ANY_TYPE, USUAL_MAX, pool
from worker.commands.convert.tables.cluster_autoscaler import PRIORITIES
from worker.commands.convert.writing import ConvertedObject, Json
from worker.commands.plan.syntax import BadDocument, documents

NAME: Final = "cluster-autoscaler-priority-expander"
MOST: Final = 1000
"""Of spec.priority."""
_LONGEST: Final = 200
_LONGEST_PATTERN: Final = 63
_NESTED: Final = re.compile(r"[+*}][)]+[+*{]|[)][+*{].*[)][+*{]")
"""Go's engine takes time that grows with the text alone; Python's tries out the many ways in which these may match."""
_KEY: Final = "data[priorities]"


@dataclass(frozen=True, slots=True)
class GroupPriorities:
    """Expressions by priority."""

    rows: tuple[tuple[int, str, re.Pattern[str]], ...] = ()
    """Priority, its key, expression."""

    def of(self, group: str) -> int | None:
        """Return the highest priority of an expression that matches; None if none does."""
        return max((priority for priority, _, expression in self.rows if expression.search(group)), default=None)

    def ranked(self, groups: list[str], remarks: Remarks) -> dict[str, int]:
        """Return the priority of each group that has one; their ranks where one is out of the bounds of pools."""
        given = {group: priority for group in groups if (priority := self.of(group)) is not None}
        if all(abs(priority) <= MOST for priority in given.values()):
            return given
        remarks.differs("data[priorities]", f"priorities of pools go from -{MOST} to {MOST}, so here they are ranks")
        order = sorted(set(given.values()))
        return {group: order.index(priority) + 1 for group, priority in given.items()}

    def unused(self, groups: list[str]) -> list[str]:
        """Return the keys of expressions that match no group."""
        return [key for _, key, expression in self.rows if not any(expression.search(group) for group in groups)]


def read_priorities(document: PeerDocument) -> GroupPriorities:
    """Return what the ConfigMap says.

    Raises:
        BadSetting: it has no key `priorities`, or this is no mapping of whole numbers to lists of expressions.
    """
    data = document.value.get("data")
    text = data.get("priorities") if isinstance(data, Mapping) else None
    if not isinstance(text, str):
        raise BadSetting(_KEY, "is missing" if text is None else f"{quoted(text)} must be text: begin it with |-")
    try:
        values = [value for value in documents(text.encode()) if value is not None]
    except (BadDocument, UnicodeError) as error:
        raise BadSetting(_KEY, str(error)) from None
    if len(values) != 1 or not isinstance(values[0], Mapping):
        raise BadSetting(_KEY, "must map each priority to a list of expressions")
    rows = [row for priority, expressions in values[0].items() for row in _rows(priority, expressions)]
    return GroupPriorities(tuple(rows))


def _rows(priority: object, expressions: object) -> list[tuple[int, str, re.Pattern[str]]]:
    key = f"{_KEY}.{priority}"
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise BadSetting(
            key, f"{quoted(priority)} must be a whole number without quotes, as Cluster Autoscaler asks for"
        )
    if not isinstance(expressions, list):
        raise BadSetting(key, f"{quoted(expressions)} must be a list of expressions")
    rows: list[tuple[int, str, re.Pattern[str]]] = []
    for index, expression in enumerate(expressions):
        where = f"{key}[{index}]"
        if not isinstance(expression, str) or len(expression) > _LONGEST:
            raise BadSetting(where, f"{quoted(expression)} must be an expression of at most {_LONGEST} characters")
        if _NESTED.search(expression):
            raise BadSetting(
                where, f"{quoted(expression)} repeats what is repeated, which could take for ever: say it without"
            )
        try:
            rows.append((priority, where, re.compile(expression)))
        except (re.error, RecursionError, OverflowError):
            raise BadSetting(where, f"{quoted(expression)} is no regular expression") from None
    return rows


def pattern_pool(priorities: GroupPriorities, class_ref: Json, file: str) -> ConvertedObject:
    """Return one pool in which each expression is a pattern of server types: what the ConfigMap alone can become."""
    remarks = Remarks(PRIORITIES)
    types: list[Json] = []
    for priority, key, expression in sorted(priorities.rows, key=lambda row: -row[0]):
        pattern = _pattern(expression.pattern)
        if pattern is None or abs(priority) > MOST:
            remarks.no_equal(key, f"a pattern knows * and ? alone, and a priority goes from -{MOST} to {MOST}")
        else:
            types.append({"pattern": pattern, "priority": priority})
    remarks.differs("data[priorities]", "patterns are of server types here: groups have no names without a Deployment")
    spec = {
        "serverTypes": types or [dict(ANY_TYPE)],
        "limits": {"max": USUAL_MAX},
        "template": {"classRef": class_ref},
        "scaleUp": {"choose": "priority"},
    }
    return ConvertedObject(pool("default", spec), f"ConfigMap {NAME}", file, remarks.entries)


def _pattern(expression: str) -> str | None:
    """Return the pattern that matches the same names; None if none does."""
    text = expression.removeprefix("^") if expression.startswith("^") else f".*{expression}"
    text = text.removesuffix("$") if text.endswith("$") and not text.endswith("\\$") else f"{text}.*"
    parts = re.findall(r"[.][*]|\\[.-]|[.]|[A-Za-z0-9_-]", text)
    if "".join(parts) != text:
        return None
    pattern = "".join("*" if part == ".*" else "?" if part == "." else part.removeprefix("\\") for part in parts)
    pattern = re.sub("[*]+", "*", pattern)
    return pattern if len(pattern) <= _LONGEST_PATTERN else None
