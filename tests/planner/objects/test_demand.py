"""Which pods ask for machines. Source: docs/design.md#demand."""

import pytest

from planner.objects.counted_pods import is_demand, may_be_placed
from planner.parsing.objects import parse_pod
from tests.builders import pod


def made(**changes):
    raw = pod("a")
    for part, fields in changes.items():
        raw[part] = raw[part] | fields
    return parse_pod(raw)


def test_a_pod_that_the_scheduler_found_no_place_for_is_demand():
    assert is_demand(made())


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"nodeName": "n"}},
        {"spec": {"schedulingGates": [{"name": "quota"}]}},
        {"metadata": {"deletionTimestamp": "2026-03-01T11:00:00Z"}},
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}},
        {"metadata": {"ownerReferences": [{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]}},
        {"status": {"phase": "Failed"}},
        {"status": {"phase": "Succeeded"}},
    ],
)
def test_pods_that_no_machine_would_help(changes):
    assert not is_demand(made(**changes))
    assert not may_be_placed(made(**changes))


@pytest.mark.parametrize("reason", [None, "SchedulingGated", "SchedulerError"])
def test_a_pod_that_the_scheduler_has_not_judged_is_no_demand_yet(reason):
    conditions = [{"type": "PodScheduled", "status": "False", "reason": reason}] if reason else []
    waiting = made(status={"conditions": conditions})
    assert not is_demand(waiting)
    assert may_be_placed(waiting)
