"""Requests that nobody needs any more: without a server and without pods, they are taken back."""

from dataclasses import dataclass
from decimal import Decimal

from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from planner.supply.machines import Machine, PriceList, price_today


@dataclass(frozen=True, slots=True)
class UnneededRequests:
    """Proposes every request that can be cancelled: one that pods need is refused by the checks."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the requests, the dearest first."""
        untouched = [
            candidate.machine
            for candidate in view.candidates
            if candidate.action is MachineAction.CANCEL and candidate.machine.name not in view.held
        ]
        return Advice(
            tuple(
                Proposal(
                    machine=machine.name,
                    action=MachineAction.CANCEL,
                    reason="Unneeded",
                    why="No pod needs it, and no server was asked for",
                    at=view.now,
                )
                for machine in sorted(untouched, key=lambda m: (-_price(m, view.prices), m.name))
            )
        )


def _price(machine: Machine, prices: PriceList) -> Decimal:
    cost = price_today(machine, None, prices)
    return Decimal(0) if cost is None else cost[0]
