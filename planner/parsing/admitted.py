"""DaemonSets with what admission makes of their pods."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planner.objects.kinds import DaemonSet
from planner.parsing.json_part import FieldError
from planner.parsing.limit_ranges import LimitRange, LimitRanges
from planner.parsing.objects import Json, UnreadableObject, parse_daemon_set


def with_limit_ranges(
    daemon_sets: Sequence[DaemonSet], items: Iterable[Json], ranges: Iterable[LimitRange]
) -> tuple[DaemonSet, ...]:
    """Return the DaemonSets with what their next pods will ask for.

    Args:
        daemon_sets: as their templates say.
        items: the objects that they were read from.
        ranges: the LimitRanges there are.
    """
    known = LimitRanges(ranges)
    admitted: dict[tuple[str, str], DaemonSet] = {}
    for item in items:
        namespace = item.get("metadata", {}).get("namespace") or "default"
        if known.has_any(namespace) and (daemon_set := _admitted(item, namespace, known)) is not None:
            admitted[namespace, daemon_set.name] = daemon_set
    return tuple(admitted.get((each.namespace, each.name), each) for each in daemon_sets)


def _admitted(item: Json, namespace: str, known: LimitRanges) -> DaemonSet | None:
    """Return the DaemonSet as its pods will be; None if that cannot be read."""
    try:
        template = item["spec"]["template"]
        spec = known.completed(namespace, template["spec"])
        refusal = known.refusal(namespace, spec)
        complete = {**item, "spec": {**item["spec"], "template": {**template, "spec": spec}}}
        return replace(parse_daemon_set(complete), refusal=refusal)
    except (FieldError, UnreadableObject, KeyError, TypeError):
        # Who reads the template as it stands tells of what is wrong with it.
        return None
