"""Which objects a round asks the planner workflow to start."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from activities.objects.kinds import REMOVALS, REQUESTS
from activities.round.workflow_starts import WorkflowStarts
from planner.lifecycle.kinds import REQUEST
from planner.model.round import STARTS_PER_ROUND


class Clock:
    def __init__(self):
        self.time = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def __call__(self):
        return self.time

    def pass_time(self, seconds):
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def starts(clock):
    return WorkflowStarts(clock)


def item(name, **status):
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, **({"status": status} if status else {})}


def items(prefix, count):
    return [item(f"{prefix}{number:03}") for number in range(count)]


def choose(starts, requests, removals=()):
    chosen, is_left = starts.choose({REQUESTS: requests, REMOVALS: removals})
    return chosen["NodeRequest"], chosen["NodeRemovalRequest"], is_left


def names(chosen):
    return [one.name for one in chosen]


def test_objects_without_a_workflow_are_handed_out_with_their_uid(starts):
    requests, removals, is_left = choose(starts, [item("a"), item("b", workflowId="w")], [item("c", phase="Pending")])
    assert [(one.name, one.uid) for one in requests] == [("a", "uid-a")]
    assert names(removals) == ["c"]
    assert not is_left


def test_none_is_handed_out_again_while_its_start_is_under_way(starts, clock):
    choose(starts, [item("a")])
    clock.pass_time(4.9)
    assert choose(starts, [item("a"), item("b")])[0][0].name == "b"
    clock.pass_time(0.1)
    assert names(choose(starts, [item("a"), item("b")])[0]) == ["a"]


def test_a_restarted_worker_hands_all_out_at_once(starts, clock):
    choose(starts, [item("a")])
    assert names(choose(WorkflowStarts(clock), [item("a")])[0]) == ["a"]


def test_at_most_a_hundred_requests_and_removals_together_and_the_rest_next_time(starts):
    requests, removals, is_left = choose(starts, items("r", 90), items("m", 30))
    assert (len(requests), len(removals), is_left) == (90, 10, True)
    assert STARTS_PER_ROUND == 100
    requests, removals, is_left = choose(starts, items("r", 90), items("m", 30))
    assert (names(requests), len(removals), is_left) == ([], 20, False)


def test_objects_whose_start_keeps_failing_do_not_stop_the_others(starts, clock):
    failing = items("f", 100)
    choose(starts, failing)
    clock.pass_time(10)
    requests, _, is_left = choose(starts, [*failing, item("new")])
    assert "new" in names(requests)
    assert is_left


def test_memory_holds_only_what_still_waits(starts):
    choose(starts, items("r", 50))
    choose(starts, [item("r000")])
    assert set(starts._handed) == {"uid-r000"}


def test_an_object_for_which_nothing_is_under_way_needs_no_workflow(starts):
    resting = replace(
        REQUESTS, lifecycle=replace(REQUEST, needs_workflow=lambda item: "phase" in item.get("status", {}))
    )
    chosen, _ = starts.choose({resting: [item("a"), item("b", phase="Pending")]})
    assert names(chosen["NodeRequest"]) == ["b"]
