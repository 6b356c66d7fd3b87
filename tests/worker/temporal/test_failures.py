from temporalio.api.failure.v1 import Failure
from temporalio.exceptions import ApplicationError

from activities.ports.errors import Unreachable
from worker.temporal.client import DATA_CONVERTER
from workflows.node_removal import REFUSED


def failure_of(error: Exception, cause: Exception | None = None) -> Failure:
    """Return what Temporal is told of an error that was raised."""
    failure = Failure()
    try:
        raise error from cause
    except ApplicationError as raised:
        DATA_CONVERTER.failure_converter.to_failure(raised, DATA_CONVERTER.payload_converter, failure)
    return failure


def test_a_refusal_is_an_answer_without_a_stack_trace():
    failure = failure_of(ApplicationError("m-1: too late to cancel", type=REFUSED, non_retryable=True))
    assert (failure.message, failure.stack_trace) == ("m-1: too late to cancel", "")


def test_an_error_of_the_project_is_one_clear_line():
    cause = Unreachable("the API server does not answer")
    failure = failure_of(ApplicationError(str(cause), type="Unreachable"), cause)
    assert failure.message == "the API server does not answer"
    assert failure.stack_trace == ""
    assert not failure.HasField("cause")


def test_the_unexpected_keeps_its_stack_trace():
    failure = failure_of(ApplicationError("what is this?", type="ValueError"), ValueError("what is this?"))
    assert "test_failures.py" in failure.stack_trace
    assert failure.HasField("cause")
