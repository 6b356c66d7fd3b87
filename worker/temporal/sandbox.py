"""The workflows, and the sandbox in which they run."""

from collections.abc import Sequence
from typing import Final

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from workflows.node_removal import NodeRemovalWorkflow
from workflows.node_request import NodeRequestWorkflow
from workflows.planner import PlannerWorkflow

WORKFLOWS: Final[Sequence[type]] = (PlannerWorkflow, NodeRequestWorkflow, NodeRemovalWorkflow)
LOADED_ONCE: Final = (
    "api",
    "planner",
    "activities",
    "workflows.ui_details",
    "workflows.messages",
    "workflows.planner_details",
    "workflows.policies",
    "workflows.removal_details",
    "workflows.request_details",
)
"""Modules without a clock and without state: models, constants, and text made of arguments.

Everything else of ours is loaded anew for each workflow, at its start and whenever it comes back into the worker's
memory. With the modules of `workflows` among them, that took half of the processor time of a short lifecycle.
"""


def workflow_runner() -> SandboxedWorkflowRunner:
    """Return the sandbox: it loads what is pure once instead of once a workflow."""
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules(*LOADED_ONCE))
