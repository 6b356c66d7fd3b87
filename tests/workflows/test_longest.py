"""No payload comes near to what Temporal refuses, and no object near to what etcd refuses, however long its words."""

import json

import pytest
from temporalio.contrib.pydantic import pydantic_data_converter

from planner.model.plan import PlannerMemory
from planner.model.round import STARTS_PER_ROUND, RoundInput
from tests.workflows.longest import (
    VERSIONS,
    busiest_round,
    memory,
    named_memory,
    removal_seen,
    request,
    request_seen,
)
from tests.workflows.runs import PAYLOAD_BYTES_REFUSED, PAYLOAD_BYTES_WARNED
from workflows.messages import PlannerState

KIB = 1024
OBJECT_BYTES_REFUSED = 1536 * KIB
"""Source: etcd's --max-request-bytes, 1.5 MiB."""


def payload_bytes(value) -> int:
    """Return how long a value is in a history, as the worker's data converter writes it."""
    return pydantic_data_converter.payload_converter.to_payloads([value])[0].ByteSize()


def test_the_busiest_round_is_below_what_temporal_warns_of():
    """A warning would be logged for each round of a burst."""
    busiest = busiest_round()
    assert len(busiest.notes) == STARTS_PER_ROUND
    assert min(len(note.details) for note in busiest.notes.values()) > 500
    # Far more than an idle round, or the largest parts were left out.
    assert 100 * KIB < payload_bytes(busiest) < PAYLOAD_BYTES_WARNED < PAYLOAD_BYTES_REFUSED


def test_the_memory_of_the_planner_keeps_to_4_kib():
    full = memory()
    assert len(full.backoff) == 40
    assert 2 * KIB < payload_bytes(full) < 4 * KIB


@pytest.mark.parametrize("planner_memory", [memory(), named_memory()], ids=["as it is", "with names of 253 characters"])
def test_what_rounds_and_runs_of_the_planner_hand_on_is_small(planner_memory):
    asked = RoundInput(run="r" * 36, round=10**9, memory=planner_memory, versions=VERSIONS)
    handed = PlannerState(round=10**9, memory=planner_memory, versions=VERSIONS, failures=10**9)
    assert len(planner_memory.backoff) == 40
    for value in (asked, handed):
        assert payload_bytes(planner_memory) < payload_bytes(value) < 20 * KIB


def test_a_memory_of_more_classes_is_refused():
    full = named_memory()
    with pytest.raises(ValueError, match="at most 40 items"):
        PlannerMemory(backoff=full.backoff | {"one more": next(iter(full.backoff.values()))})


@pytest.mark.parametrize("seen", [request_seen(), removal_seen()], ids=["request", "removal"])
def test_what_is_seen_of_an_object_is_small(seen):
    """Each look puts one into the history, of which Temporal suggests a new one at 4 MiB."""
    assert 4 * KIB < payload_bytes(seen) < 16 * KIB


def test_the_largest_request_fits_into_etcd():
    assert 256 * KIB < len(json.dumps(request(0))) < OBJECT_BYTES_REFUSED / 2
