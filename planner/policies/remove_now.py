"""Remove now: a machine whose Node bears the taint `growth.dev/remove-now` goes as soon as it is empty.

The taint is the word of a system that looks after machines, or of a person: what they know of the machine, such as a
maintenance of its host, Growth does not. So neither a cool-off nor a minimum or budget keeps it, nor a cordon, which
the same systems set, nor the mode `none`: that is about what Growth decides by itself. The machine is not drained:
whoever sets the taint may evict, and a pod that comes all the same needs it. What keeps it else keeps it here, too.
"""

from dataclasses import dataclass

from api.keys import TAINT_REMOVE_NOW
from planner.lifecycle.removal import REMOVE_NOW
from planner.policies.emptiness import is_empty
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal


@dataclass(frozen=True, slots=True)
class RemoveNow:
    """Proposes the empty machines that somebody wants to go at once."""

    def propose(self, view: PolicyView) -> Advice:
        """Return those machines, by name."""
        return Advice(
            tuple(
                Proposal(
                    machine=candidate.machine.name,
                    action=MachineAction.REMOVE,
                    reason=REMOVE_NOW,
                    why=f"Without pods, and its Node bears the taint {TAINT_REMOVE_NOW}",
                    at=view.now,
                    below_minimum=True,
                )
                for candidate in sorted(view.candidates, key=lambda one: one.machine.name)
                if candidate.action is MachineAction.REMOVE
                and candidate.machine.is_to_go_now
                and is_empty(candidate.machine.residents)
            )
        )
