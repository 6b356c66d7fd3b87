"""How failures look in the Temporal UI: the expected is one clear line, and only the unexpected has a stack trace."""

from dataclasses import replace
from typing import Final

from temporalio.api.failure.v1 import Failure
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.converter import DataConverter, DefaultFailureConverter, PayloadConverter

from activities.ports.errors import GrowthError
from workflows.node_removal import REFUSED


class FailureConverter(DefaultFailureConverter):
    """The default one, without stack traces of refusals and of the project's own errors.

    Those of the latter are in the worker's log; here they would hide the line that says what to do.
    """

    def to_failure(self, exception: BaseException, payload_converter: PayloadConverter, failure: Failure) -> None:
        """Write `exception` into `failure`."""
        super().to_failure(exception, payload_converter, failure)
        is_own = isinstance(exception.__cause__, GrowthError)
        if is_own:
            # It says the same once more.
            failure.ClearField("cause")
        if is_own or failure.application_failure_info.type == REFUSED:
            failure.ClearField("stack_trace")


DATA_CONVERTER: Final[DataConverter] = replace(pydantic_data_converter, failure_converter_class=FailureConverter)
"""Of every client of Growth."""
