"""NodeMetrics of files, each a sample of what a Node used."""

from collections import defaultdict
from collections.abc import Iterable

from planner.model.plan import Problem
from planner.model.usage import ObservedUsage, UsageSample
from planner.parsing.json_part import FieldError
from planner.parsing.node_metrics import read_usage
from worker.commands.plan.objects import Json, sample_name


def usage_in(items: Iterable[Json]) -> tuple[ObservedUsage, tuple[Problem, ...]]:
    """Return the samples by Node, the oldest first, and what is wrong with those that cannot be read."""
    samples: defaultdict[str, list[UsageSample]] = defaultdict(list)
    problems: list[Problem] = []
    for item in items:
        try:
            name, sample = read_usage(item)
            samples[name].append(sample)
        except FieldError as error:
            problems.append(Problem(kind="NodeMetrics", name=sample_name(item), message=str(error)))
    ordered = {name: sorted(known, key=lambda each: each.at) for name, known in samples.items()}
    return ObservedUsage(ordered), tuple(problems)
