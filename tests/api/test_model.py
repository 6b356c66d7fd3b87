import pytest
from pydantic import ValidationError

from api.v1alpha1.node_request import NodeRequestSpec, NodeRequestStatus
from planner.lifecycle.seen import RequestObservation
from planner.model.round import RoundResult

SPEC = {"pool": "default", "serverType": "cx22", "location": "fsn1", "classRef": {"name": "default"}}


def test_what_a_newer_version_adds_to_a_payload_or_a_status_is_passed_over():
    assert RequestObservation.model_validate({"status": {"phase": "Ready", "mood": "good"}, "weather": "fair"}) == (
        RequestObservation(status=NodeRequestStatus.model_validate({"phase": "Ready"}))
    )
    done = RoundResult.model_validate({"result": "NoDemands", "summary": "nothing", "weather": "fair"})
    assert done.summary == "nothing"


def test_what_a_person_adds_to_a_spec_is_refused():
    NodeRequestSpec.model_validate(SPEC)
    with pytest.raises(ValidationError, match="weather"):
        NodeRequestSpec.model_validate({**SPEC, "weather": "fair"})
