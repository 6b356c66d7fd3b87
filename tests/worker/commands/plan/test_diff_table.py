"""What changes from one plan to another, as people see it, and as data."""

import json
from dataclasses import replace
from decimal import Decimal
from io import StringIO

import yaml
from rich.console import Console

from api.v1alpha1.node_pool import ClassRef
from api.v1alpha1.node_request import Seat
from planner.model.plan import Placed, Plan, PlannedRemoval, PlannedRequest, PlanResult, Reason, RemovalCancel, Unplaced
from tests.builders import NOW
from worker.commands.plan.diff import compare
from worker.commands.plan.diff_document import diff_document
from worker.commands.plan.diff_table import print_diff
from worker.commands.plan.document import document

FULL = Reason("LimitReached", "pool default is at its max")


def bought(ordinal, kind, price, pods=(), location="fsn1"):
    return PlannedRequest(
        ordinal=ordinal,
        pool="default",
        pool_uid="u",
        server_type=kind,
        location=location,
        class_ref=ClassRef(),
        price_per_hour=Decimal(price),
        seats=tuple(Seat(namespace="shop", name=name, uid=name) for name in pods),
        reserve=True,
        why="why",
    )


def leaving(name, minute):
    return PlannedRemoval(
        node=name,
        server=name,
        provider_id=None,
        pool="default",
        server_type="cx22",
        location="fsn1",
        class_ref=ClassRef(),
        reason="Empty",
        why="no pods since 11:50",
        at=NOW.replace(minute=minute),
    )


TOO_LARGE = (Reason("TooLarge", "no machine is large enough"), Reason("LimitReached", "the pool is at its max"))
BEFORE = Plan(
    PlanResult.INCOMPLETE_PLACEMENT,
    requests=(*(bought(k, "cx32", "0.0100", [f"web-{k}"]) for k in range(12)), bought(12, "cx22", "0.0059", ["api"])),
    unplaced=tuple(Unplaced(f"shop/{name}", name, TOO_LARGE) for name in ("job-1", "job-4")),
    removals=(leaving("idle-1", 1), leaving("idle-2", 1)),
    removal_cancels=(RemovalCancel("default-x", ("shop/a",)),),
    cancelled=("default-y",),
    cost_per_hour=Decimal("0.1259"),
    lower_bound_per_hour=Decimal("0.1200"),
    currency="EUR",
)
AFTER = Plan(
    PlanResult.INCOMPLETE_PLACEMENT,
    requests=(
        *(bought(k, "cx32", "0.0100", [f"web-{k}", f"job-{k}"] if k == 1 else [f"web-{k}"]) for k in range(1, 11)),
        bought(11, "cax21", "0.0096", ["web-0", "web-11"], "nbg1"),
    ),
    placed=(Placed("shop/job-4", node="roomy"),),
    unplaced=(Unplaced("shop/api", "api", (FULL,)),),
    removals=(leaving("idle-2", 1), leaving("idle-3", 2)),
    cancelled=("default-z",),
    cost_per_hour=Decimal("0.1096"),
    lower_bound_per_hour=Decimal("0.1096"),
    optimal=True,
    currency="EUR",
)


def shown(diff, **options):
    console = Console(file=StringIO(), highlight=False, **options)
    print_diff(diff, console)
    return console.file.getvalue()


GOLDEN = """\
0.1259 -> 0.1096 EUR per hour: 0.0163 less, 1 pod more with a place

Plans
   result                 per hour   bound     gap  machines  placed  without a place
-  IncompletePlacement  0.1259 EUR  0.1200  4.92 %        13      13                2
+  IncompletePlacement  0.1096 EUR  0.1096     0 %        11      14                1

To buy
        type   location  pool     per hour
+  1 x  cax21  nbg1      default    0.0096
-  1 x  cx22   fsn1      default    0.0059
  10 x  cx32   fsn1      default    0.0100
-  2 x  cx32   fsn1      default    0.0100

With a place now
   pods                    onto                  code          why not before
+  shop/job-1, shop/job-4  default-new-2, roomy  TooLarge      no machine is large enough
+                                                LimitReached  the pool is at its max

Without a place now
   pods      code          why
-  shop/api  LimitReached  pool default is at its max

To remove
   node    reason  at                    why
-  idle-1  Empty   2026-03-01T12:01:00Z  no pods since 11:50
+  idle-3  Empty   2026-03-01T12:02:00Z  no pods since 11:50

To cancel
            name
-  removal  default-x
-  request  default-y
+  request  default-z
"""
NOTHING = """\
Nothing changes

Plans
   result                 per hour   bound  gap  machines  placed  without a place
   IncompletePlacement  0.1096 EUR  0.1096  0 %        11      14                1

To buy
        type   location  pool     per hour
   1 x  cax21  nbg1      default    0.0096
  10 x  cx32   fsn1      default    0.0100
"""


def test_what_people_see():
    assert shown(compare(BEFORE, AFTER)) == GOLDEN


def test_the_same_plans_print_the_same_as_data():
    first, second = (json.dumps(diff_document(compare(BEFORE, AFTER))) for _ in range(2))
    assert first == second
    made = json.loads(first)
    assert list(made) == ["apiVersion", "before", "after", "diff"]
    assert (made["before"], made["after"]) == (document(BEFORE), document(AFTER))
    reasons = [{"code": reason.code, "message": reason.message} for reason in TOO_LARGE]
    cx32 = {"pool": "default", "serverType": "cx32", "location": "fsn1", "pricePerHour": "0.01"}
    diff = made["diff"]
    assert diff["costPerHour"] == {"before": "0.1259", "after": "0.1096", "difference": "-0.0163"}
    assert [one["serverType"] for one in diff["machines"]] == ["cax21", "cx22", "cx32"]
    assert diff["machines"][-1] == cx32 | {"before": 12, "after": 10}
    assert diff["placed"] == [
        {"pod": "shop/job-1", "request": "default-new-2", "reasons": reasons},
        {"pod": "shop/job-4", "node": "roomy", "reasons": reasons},
    ]
    assert diff["unplaced"] == [{"pod": "shop/api", "reasons": [{"code": FULL.code, "message": FULL.message}]}]
    assert diff["removals"] == {
        "dropped": [{"node": "idle-1", "reason": "Empty", "at": "2026-03-01T12:01:00Z"}],
        "added": [{"node": "idle-3", "reason": "Empty", "at": "2026-03-01T12:02:00Z"}],
    }
    assert diff["cancelled"] == {"dropped": ["default-y"], "added": ["default-z"]}
    assert diff["removalCancels"] == {"dropped": ["default-x"], "added": []}


def test_data_in_yaml_has_no_anchors():
    text = yaml.safe_dump(diff_document(compare(BEFORE, AFTER)))
    assert "shop/job-4" in text
    assert "&id" not in text


def test_nothing_changes():
    assert shown(compare(AFTER, AFTER)) == NOTHING


def test_two_currencies_are_both_named():
    diff = compare(BEFORE, replace(BEFORE, currency="USD"))
    assert shown(diff).startswith("0.1259 EUR -> 0.1259 USD per hour, as many pods with a place\n")


def test_colours_are_for_terminals():
    diff = compare(BEFORE, AFTER)
    coloured = shown(diff, force_terminal=True, color_system="standard", width=200, legacy_windows=False)
    assert "\x1b[31m-  1 x" in coloured
    assert "\x1b[32m+  1 x" in coloured
    assert "\x1b" not in shown(diff)
