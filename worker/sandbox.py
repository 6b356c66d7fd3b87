"""The workflows, and the sandbox in which they run."""

from collections.abc import Sequence
from typing import Final

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from workflows.node_removal import NodeRemovalWorkflow
from workflows.node_request import NodeRequestWorkflow
from workflows.planner import PlannerWorkflow

WORKFLOWS: Final[Sequence[type]] = (PlannerWorkflow, NodeRequestWorkflow, NodeRemovalWorkflow)


def workflow_runner() -> SandboxedWorkflowRunner:
    """Return the sandbox: it loads our pure rooms once instead of once a workflow."""
    return SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules("api", "planner", "activities")
    )
