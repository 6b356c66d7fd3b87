"""Machines that a policy would empty and that are kept: in the plan of a file, in `growth status` and `growth why`."""

import io
import json
from dataclasses import replace

import pytest
import yaml
from rich.console import Console

from planner.plan import plan
from tests.builders import NOW, disruption_budget, node
from tests.planner.policies.safety.trigger import EmptyAll, drained, runs
from tests.worker.looking import sight
from worker.commands.plan.document import document
from worker.commands.plan.files import read_objects, snapshot_of
from worker.commands.plan.table import print_plan
from worker.commands.status.table import print_status
from worker.commands.why.command import NODE, lines_about

BARE = "BlockedByBarePod, pod default/p-00 has no controller that would start it again"
FULL = "pod default/p-0 is under PodDisruptionBudget web, which lets none go now:"


def scene_of(count, *further):
    nodes = [node(f"n-{i:02}") for i in range(count)]
    return drained(*nodes, *further, pods=[runs(f"p-{i:02}", f"n-{i:02}", owner=None) for i in range(count)])


def made(given):
    return plan(given.snapshot(), policies=[EmptyAll()])


def test_the_document_names_twenty_and_counts_all():
    (pool,) = document(made(scene_of(23)))["pools"]
    assert (pool["blockedCount"], len(pool["blocked"])) == (23, 20)
    assert pool["blocked"][0] == {
        "node": "n-00",
        "trigger": "Consolidation",
        "reason": "BlockedByBarePod",
        "why": "pod default/p-00 has no controller that would start it again",
    }
    (pool,) = document(plan(scene_of(1).snapshot(), policies=[]))["pools"]
    assert (pool["blockedCount"], pool["blocked"]) == (0, [])


def printed(show, given):
    out = io.StringIO()
    show(given, Console(width=200, highlight=False, markup=False, file=out))
    return out.getvalue()


def test_the_table_names_twenty_and_counts_the_rest():
    text = printed(print_plan, made(scene_of(23)))
    assert "Held back" in text
    assert text.count("BlockedByBarePod") == 20
    assert "3 more" in text


def test_status_counts_them_by_reason():
    view = sight(scene_of(2))
    assert "policies would empty" not in printed(print_status, view)
    text = printed(print_status, replace(view, plan=made(scene_of(2))))
    assert "2 machines that policies would empty, and that stay: 2 BlockedByBarePod. `growth why node`" in text


def told(given, *, is_wanted):
    view = sight(given)
    if is_wanted:
        view = replace(view, plan=made(given))
    return [line for line in lines_about(NODE, "n-00", view) if "empty it" in line or "would go now" in line]


def test_why_node_names_trigger_and_blocker():
    (line,) = told(scene_of(1), is_wanted=True)
    assert line == f"It would go now (Consolidation), but {BARE.partition(', ')[2]}."


def test_why_node_names_the_blocker_also_while_no_policy_wants_the_machine():
    assert told(scene_of(1), is_wanted=False) == [f"No policy may empty it now: {BARE}."]
    given = drained(node("n-00"), pods=[runs("p", "n-00")])
    assert told(given, is_wanted=False) == []
    given.pools[0]["spec"]["scaleDown"]["mode"] = "empty"
    given.disruption_budgets = None
    assert told(given, is_wanted=False) == []


def without_status(item):
    return {key: value for key, value in item.items() if key != "status"}


def of_file(tmp_path, *items):
    path = tmp_path / "objects.yaml"
    path.write_text(yaml.safe_dump_all(json.loads(json.dumps(items))))
    snapshot, notes = snapshot_of(read_objects([str(path)]), NOW)
    return plan(snapshot, policies=[EmptyAll()]), notes


@pytest.mark.parametrize(
    ("spec", "healthy", "needed"),
    [
        ({"minAvailable": 3}, 3, 3),
        ({"minAvailable": 2}, 3, None),
        ({"minAvailable": "100%"}, 3, 3),
        # Of three pods, 34 % are two: rounded up.
        ({"minAvailable": "34%"}, 3, None),
        ({"maxUnavailable": 0}, 3, 3),
        ({"maxUnavailable": 1}, 3, None),
        ({"maxUnavailable": "1%"}, 3, None),
        ({"maxUnavailable": "0%"}, 3, 3),
        ({}, 3, 3),
    ],
)
def test_a_budget_written_by_hand_is_counted(tmp_path, spec, healthy, needed):
    """Source: Kubernetes docs, "Specifying a Disruption Budget for your Application"."""
    given = drained(node("n-00"), node("n-01", spec={"unschedulable": True}))
    owned = {"labels": {"app": "web"}}
    pods = [without_status(runs(f"p-{i}", f"n-0{i // 2}", **owned)) for i in range(3)]
    ended = runs("ended", "n-00", phase="Failed", **owned)
    other = runs("other", "n-01", namespace="shop", **owned)
    budget = without_status(disruption_budget("web", **spec))
    plan_made, _ = of_file(tmp_path, *given.nodes, *given.pools, *given.classes, *pods, ended, other, budget)
    blocked = {b.node: b.why for b in plan_made.blocked}
    if needed is None:
        assert [r.node for r in plan_made.removals] == ["n-00"]
    else:
        assert blocked["n-00"] == f"{FULL} {healthy} Ready, {needed} needed"


def test_a_budget_of_a_dump_is_taken_as_it_is_counted(tmp_path):
    given = drained(node("n-00"), pods=[runs("p", "n-00", labels={"app": "web"})])
    status = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 7, "desiredHealthy": 7}
    budget = disruption_budget("web", minAvailable=0) | {"status": status}
    budget["metadata"]["generation"] = 1
    plan_made, _ = of_file(tmp_path, *given.nodes, *given.pools, *given.classes, *given.pods, budget)
    assert [b.why for b in plan_made.blocked] == [
        "pod default/p is under PodDisruptionBudget web, which lets none go now: 7 Ready, 7 needed"
    ]


def test_a_budget_that_cannot_be_read_is_told_and_stops_nothing(tmp_path):
    given = drained(node("n-00"), pods=[runs("p", "n-00")])
    bad = disruption_budget("web", minAvailable=1)
    bad["spec"]["selector"] = {"matchExpressions": [{"key": "a", "operator": "Is"}]}
    plan_made, notes = of_file(tmp_path, *given.nodes, *given.pools, *given.classes, *given.pods, bad)
    assert [r.node for r in plan_made.removals] == ["n-00"]
    (note,) = [note for note in notes if "PodDisruptionBudget" in note]
    assert "PodDisruptionBudget default/web: spec.selector.matchExpressions[0].operator: 'Is' is not one of" in note
