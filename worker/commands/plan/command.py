"""`growth plan`: what Growth would do for the objects of a file, without a cluster and without Temporal."""

import json
import sys
import time
from datetime import UTC, datetime
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter

from api.meta import read_moment
from planner.model.plan import Snapshot
from planner.model.stages import Stopwatch
from planner.plan import plan as decide
from worker.commands.plan.assignments import setting
from worker.commands.plan.diff import compare
from worker.commands.plan.diff_document import diff_document
from worker.commands.plan.diff_table import print_diff
from worker.commands.plan.document import Json, document, explanation
from worker.commands.plan.files import STDIN, read_objects, snapshot_of, with_settings
from worker.commands.plan.table import print_plan
from worker.commands.shared.cluster_view import cluster_view
from worker.commands.why.pod import why_pod
from worker.errors import USAGE_ERROR, CommandError
from worker.printing import shown_line
from worker.solver.in_process import packer, patient_packer


def plan(
    *further: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=False)],
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, negative="")] = (),
    now: Annotated[str | None, Parameter(name="--now")] = None,
    explain: Annotated[str | None, Parameter(name="--explain")] = None,
    settings: Annotated[tuple[str, ...], Parameter(name="--set", negative="")] = (),
    diff: Annotated[bool, Parameter(name="--diff", negative="")] = False,
    against: Annotated[tuple[str, ...], Parameter(name="--against", allow_leading_hyphen=True, negative="")] = (),
    timing: Annotated[bool, Parameter(name="--timing", negative="")] = False,
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Print the plan for the objects of some files: a dump of a cluster, or what is written by hand.

    Objects of other kinds are passed over and counted. An object of Kubernetes' own kinds that cannot
    be read is told of on standard error, and the rest is planned.

    Args:
        further: more files, so that a pattern of the shell may follow -f.
        file: YAML or JSON, as `kubectl get -o yaml` prints it: pods, nodes, namespaces, pv, pvc, storageclasses,
            csinodes, daemonsets, limitranges, poddisruptionbudgets, runtimeclasses, priorityclasses, capacitybuffers
            with what they refer to, nodemetrics, and Growth's own kinds; may be repeated; - is standard input.
        now: the time of the plan in RFC 3339; without it, the present.
        explain: namespace/name of a pod: tell of it alone, with what stands in the way on each node and offering.
        settings: PATH=VALUE, such as pool/default.limits.max=9: plan as if a pool (pool/NAME) or a node class
            (class/NAME) said so; += adds to a list; may be repeated.
        diff: print what changes from the plan without --set, or of the files of --against.
        against: files of objects to compare with; may be repeated.
        timing: tell on standard error how long each stage of planning took; with -o json or yaml, as data, too.
        output: a table for people, or data.

    Returns:
        The exit code: 0 for every plan, also for one that places nothing.

    Raises:
        CommandError: the input is bad; one line that names file, object and field.
    """
    files = (*file, *further)
    if not files:
        raise CommandError(f"name the files of objects with -f, or {STDIN} for standard input", USAGE_ERROR)
    _check_diff(files, settings, against, is_diff=diff, is_explanation=explain is not None)
    at, objects = _moment(now), read_objects(files)
    given, notes = snapshot_of(objects, at)
    snapshot, assumptions = with_settings(given, objects, [setting(text) for text in settings])
    if against:
        given, others = snapshot_of(read_objects(against), at)
        notes += others
    for note in dict.fromkeys([*notes, *assumptions]):
        print(shown_line(f"growth: {note}"), file=sys.stderr)
    if explain is not None:
        if timing:
            raise CommandError("--explain tells of one pod: leave out --timing", USAGE_ERROR)
        _explain(explain, snapshot, output)
        return 0
    watch = Stopwatch(time.perf_counter)
    made = decide(snapshot, patient_packer() if diff else packer(), watch)
    if timing:
        print(f"growth: planned in {watch.summary}", file=sys.stderr)
    if diff:
        changes = compare(decide(given, patient_packer()), made)
        if output == "table":
            print_diff(changes)
        else:
            _print_data(diff_document(changes), output)
    elif output == "table":
        print_plan(made)
    else:
        _print_data(document(made, watch.seconds if timing else None), output)
    return 0


def _check_diff(
    files: tuple[str, ...], settings: tuple[str, ...], against: tuple[str, ...], *, is_diff: bool, is_explanation: bool
) -> None:
    """Check that what was asked for goes together.

    Raises:
        CommandError: it does not.
    """
    if is_diff and not (settings or against):
        raise CommandError("--diff compares with something: give --set PATH=VALUE, or --against FILE", USAGE_ERROR)
    if against and not is_diff:
        raise CommandError("--against is for --diff", USAGE_ERROR)
    if is_diff and is_explanation:
        raise CommandError("--explain tells of one plan: leave out --diff", USAGE_ERROR)
    if (*files, *against).count(STDIN) > 1:
        raise CommandError("standard input can be read only once", USAGE_ERROR)


def _explain(name: str, snapshot: Snapshot, output: str) -> None:
    """Print why one pod goes where it does.

    Raises:
        CommandError: there is no such pod.
    """
    key = name if "/" in name else f"default/{name}"
    pod = next((pod for pod in snapshot.pods if pod.key == key), None)
    if pod is None:
        # What cannot be read is named as it stands there, perhaps without a namespace.
        known = (key, key.removeprefix("default/"))
        unread = next((one for one in snapshot.problems if one.kind == "Pod" and one.name in known), None)
        problem = "no file holds such a pod" if unread is None else f"it cannot be read: {unread.message}"
        raise CommandError(f"--explain: Pod {key}: {problem}", USAGE_ERROR)
    view = cluster_view(snapshot, {})
    if output == "table":
        print(*map(shown_line, why_pod(pod, view, is_live=False)), sep="\n")
    else:
        _print_data(explanation(pod, view), output)


def _print_data(data: Json, output: str) -> None:
    text = json.dumps(data, indent=2) + "\n" if output == "json" else yaml.safe_dump(data, sort_keys=False)
    print(text, end="")


def _moment(text: str | None) -> datetime:
    if text is None:
        return datetime.now(UTC)
    moment = read_moment(text)
    if moment is None:
        raise CommandError(f"--now: {text!r} is not a time in RFC 3339, such as 2026-03-01T12:00:00Z", USAGE_ERROR)
    return moment.astimezone(UTC)
