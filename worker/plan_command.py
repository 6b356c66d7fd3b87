"""`growth plan`: what Growth would do for the objects of a file, without a cluster and without Temporal."""

import json
import sys
from datetime import UTC, datetime
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter

from planner.plan import plan as decide
from worker.command_error import USAGE_ERROR, CommandError
from worker.plan_document import document
from worker.plan_files import STDIN, read_snapshot
from worker.plan_table import print_plan


def plan(
    *further: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=False)],
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, negative="")] = (),
    now: Annotated[str | None, Parameter(name="--now")] = None,
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Print the plan for the objects of some files: pods, nodes, DaemonSets, pools, classes, requests and removals.

    Kinds that Growth does not know are passed over. Pods that cannot be read are told on standard
    error, and the rest is planned.

    Args:
        further: more files, so that a pattern of the shell may follow -f.
        file: YAML or JSON, as `kubectl get -o yaml` prints it; may be repeated; - is standard input.
        now: the time of the plan in RFC 3339; without it, the present.
        output: a table for people, or data.

    Returns:
        The exit code: 0 for every plan, also for one that places nothing.

    Raises:
        CommandError: the input is bad; one line that names file, object and field.
    """
    files = (*file, *further)
    if not files:
        raise CommandError(f"name the files of objects with -f, or {STDIN} for standard input", USAGE_ERROR)
    snapshot = read_snapshot(files, _moment(now))
    for problem in snapshot.problems:
        print(f"growth: left out: {problem.kind} {problem.name}: {problem.message}", file=sys.stderr)
    made = decide(snapshot)
    if output == "table":
        print_plan(made)
    elif output == "json":
        print(json.dumps(document(made), indent=2))
    else:
        print(yaml.safe_dump(document(made), sort_keys=False), end="")
    return 0


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CommandError(f"--now: {text!r} is not a time in RFC 3339, such as 2026-03-01T12:00:00Z", USAGE_ERROR)
    return moment.astimezone(UTC)
