"""The workflows, and the sandbox in which they run."""

from collections.abc import Sequence
from pkgutil import iter_modules
from typing import Final

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

import workflows
from workflows.node_removal import NodeRemovalWorkflow
from workflows.node_request import NodeRequestWorkflow
from workflows.planner import PlannerWorkflow

WORKFLOWS: Final[Sequence[type]] = (PlannerWorkflow, NodeRequestWorkflow, NodeRemovalWorkflow)
_LOADED_ANEW: Final = {base.__module__ for kind in WORKFLOWS for base in kind.__mro__}
"""The modules of the workflows themselves and of what they inherit."""
LOADED_ONCE: Final = (
    "api",
    "planner",
    "activities",
    *sorted({module.name for module in iter_modules(workflows.__path__, "workflows.")} - _LOADED_ANEW),
)
"""Modules without a clock and without state: models, constants, and text made of arguments.

Everything else of ours is loaded anew for each workflow, at its start and whenever it comes back into the worker's
memory. With the modules of `workflows` among them, that took half of the processor time of a short lifecycle.
"""


def workflow_runner() -> SandboxedWorkflowRunner:
    """Return the sandbox: it loads what is pure once instead of once a workflow."""
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules(*LOADED_ONCE))
