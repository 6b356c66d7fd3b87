"""What `growth plan`, `growth status` and `growth why node` say of use and locks, and of other pools nothing."""

from io import StringIO

from rich.console import Console

from planner.plan import plan
from tests.builders import before, node, node_pool, node_request, pod
from tests.planner.scenes import scene
from tests.tables import rows
from tests.worker.looking import sight
from worker.commands.plan.document import document
from worker.commands.plan.table import print_plan
from worker.commands.status.table import print_status
from worker.commands.why.command import NODE, lines_about

GIB = 2**30
GROUP = {"lowerPercent": 10, "upperPercent": 40, "slow": 1, "fast": 5}
BOTH = {
    "scaleUp": {"estimators": ["binPack", "threshold"], "thresholdPercent": 70, "lock": {"min": "2m", "max": "10m"}},
    "scaleDown": {"mode": "drain", "group": GROUP, "node": {"cpuPercent": 50, "memoryPercent": 50, "window": "10m"}},
}
COMING = {"metadata": {"creationTimestamp": before(minutes=1)}, "phase": "Provisioning"}


def printed(write, subject):
    paper = StringIO()
    write(subject, Console(file=paper, width=200, highlight=False))
    return paper.getvalue()


def used(cpu="1", **spec):
    return scene(node("a"), pod("on-a", cpu, "1Gi", node="a", owner="rs"), types=("cx22",), **(BOTH | spec))


def test_a_plan_has_use_and_bounds_as_data():
    (pool,) = document(plan(used().snapshot()))["pools"]
    counted = {
        "cpu": {"requested": 1000, "capacity": 2000, "percent": 50.0},
        "memory": {"requested": GIB, "capacity": 4 * GIB, "percent": 25.0},
    }
    assert pool["use"] == {
        "growth": {"thresholdPercent": 70} | counted,
        "shrinking": {"lowerPercent": 10, "upperPercent": 40} | counted,
    }
    assert pool["lock"] is None


def test_a_pool_without_machines_has_no_percentage():
    (pool,) = document(plan(scene(types=("cx22",), **BOTH).snapshot()))["pools"]
    assert pool["use"]["growth"]["cpu"] == {"requested": 0, "capacity": 0, "percent": None}


def test_a_plan_of_pools_without_these_fields_is_as_before():
    given = scene(node("a"), pod("on-a", node="a"), pod("waits", "2"))
    made = plan(given.snapshot())
    (pool,) = document(made)["pools"]
    assert "use" not in pool
    assert pool["lock"] is None
    assert "Pool default" not in printed(print_plan, made)
    assert "Pool default" not in printed(print_status, sight(given))


@rows(
    ("objects", "status", "told"),
    {
        "nothing was bought yet": ([], {}, None),
        "a purchase of this round": (
            [pod("big", "2")],
            {},
            "closes with this purchase of 2 machines: it opens once all are Ready, from 12:02:00 on, and at",
        ),
        "machines that are coming": (
            [node_request("x", **COMING), node_request("y", **COMING)],
            {},
            "is closed since 11:59:00, as 2 machines were asked for: it opens once all are Ready, from 12:01:00",
        ),
        "one that has opened": (
            [],
            {"closedAt": before(minutes=9), "openedAt": before(minutes=5), "openedBy": "Timeout", "requested": 1},
            "is open since 11:55:00: its time was over before all that was asked for was Ready.",
        ),
    },
)
def test_the_lock_says_what_opens_it_and_when(objects, status, told):
    pool = node_pool(types=("cx22",), **BOTH) | ({"status": {"lock": status}} if status else {})
    text = " ".join(printed(print_status, sight(scene(*objects, pools=[pool]))).split())
    if told is None:
        assert "The lock" not in text
    else:
        assert f"The lock of pool default {told}" in text


def test_the_lock_as_data():
    given = scene(node_request("x", **COMING), pools=[node_pool(types=("cx22",), **BOTH)])
    (pool,) = document(plan(given.snapshot()))["pools"]
    assert pool["lock"] == {
        "closed": True,
        "closedAt": before(minutes=1),
        "requested": 1,
        "opensFrom": before(minutes=-1),
        "opensBy": before(minutes=-9),
        "openedAt": None,
        "openedBy": None,
    }


def test_status_shows_percentages_beside_their_bounds():
    text = printed(print_status, sight(used()))
    assert (
        "Pool default grows above 70 %: 50 % of its cpu and 25 % of its memory is requested, machines that are coming"
        in text
    )
    assert (
        "Pool default shrinks below 40 %, faster below 10 %: 50 % of its cpu and 25 % of its memory is requested."
        in text
    )


SINCE = {"growth.dev/underused-since": before(minutes=4)}


@rows(
    ("cpu", "annotations", "line"),
    {
        "too much": (
            "1",
            {},
            "Its pods request 50 % of its cpu and 25 % of its memory: it would go below 50 %",
        ),
        "little from now on": (
            "500m",
            {},
            "below 50 % and 50 %: scaleDown.node; its window begins with the next",
        ),
        "little for a while": (
            "500m",
            SINCE,
            "so since 11:56:00 (for 4m): it goes at 12:06:00 (in 6m) if that stays so.",
        ),
        "little for long": ("500m", {"growth.dev/underused-since": before(minutes=11)}, "its window is over."),
    },
)
def test_why_a_machine_is_not_removed_for_its_use(cpu, annotations, line):
    given = scene(
        node("a", annotations=annotations), pod("on-a", cpu, "1Gi", node="a", owner="rs"), types=("cx22",), **BOTH
    )
    lines = lines_about(NODE, "a", sight(given))
    assert any(line in each for each in lines), lines
    assert any(each.startswith("Pool default shrinks below 40 %") for each in lines)


def test_what_keeps_a_machine_that_would_go_now_is_told_with_its_trigger():
    given = used("500m", scaleDown=BOTH["scaleDown"] | {"group": GROUP | {"upperPercent": 60, "lowerPercent": 30}})
    (pool,) = document(plan(given.snapshot()))["pools"]
    assert [(each["trigger"], each["reason"]) for each in pool["blocked"]] == [("Underused", "BlockedByRemainingUse")]
    assert any("It would go now (Underused), but" in each for each in lines_about(NODE, "a", sight(given)))


def test_removals_for_little_use_say_why_as_data():
    nodes = [node(name) for name in "abc"]
    pods = [pod(f"on-{name}", "400m", "256Mi", node=name, owner="rs") for name in "abc"]
    given = scene(*nodes, *pods, types=("cx22",), scaleDown={"mode": "drain", "group": GROUP})
    (removal,) = document(plan(given.snapshot()))["removals"]
    assert removal["reason"] == "Underused"
    assert removal["why"].startswith("20 % of the cpu of pool default is asked for")
