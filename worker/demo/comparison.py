"""What others' rules buy for the demo's pods, beside what Growth bought, and what no plan can go below."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from rich.table import Table

from planner.model.plan import Snapshot
from planner.plan import plan
from simulator.peers.cluster_autoscaler import EXPANDERS, cluster_autoscaler
from simulator.peers.karpenter import karpenter
from simulator.peers.problem import problem_of
from worker.demo.scene import CURRENCY_SIGN
from worker.demo.tables import plain
from worker.solver.in_process import packer

LABEL: Final = (
    "The others are their published rules, run on the same pods, machines and prices (simulator/peers), "
    "not their programs."
)


@dataclass(frozen=True, slots=True)
class BoughtMachines:
    """What one set of rules buys."""

    buyer: str
    machines: int
    cost_per_hour: Decimal
    placed: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The peers' purchases, and the least that any plan costs."""

    peers: tuple[BoughtMachines, ...]
    lower_bound_per_hour: Decimal


def compare(snapshot: Snapshot) -> Comparison:
    """Return the purchases of the peers' rules for the pods of `snapshot`, of the offerings that it has."""
    problem = problem_of(snapshot)
    purchases = {"Karpenter's rules": karpenter(problem)}
    purchases |= {
        f"Cluster Autoscaler's rules, {name}": cluster_autoscaler(problem, expander=name) for name in EXPANDERS
    }
    return Comparison(
        peers=tuple(
            BoughtMachines(buyer, one.machines, one.cost_per_hour, one.placed) for buyer, one in purchases.items()
        ),
        lower_bound_per_hour=plan(snapshot, packer()).lower_bound_per_hour,
    )


def comparison_table(growth: BoughtMachines, comparison: Comparison) -> Table:
    """Return a line for each, with its price against Growth's."""
    table = plain("who buys", right=("pods placed", "machines", f"{CURRENCY_SIGN} per hour", "against Growth"))
    table.add_row(
        growth.buyer, str(growth.placed), str(growth.machines), f"{growth.cost_per_hour:.4f}", "", style="bold"
    )
    for peer in comparison.peers:
        table.add_row(
            peer.buyer,
            str(peer.placed),
            str(peer.machines),
            f"{peer.cost_per_hour:.4f}",
            _against(peer.cost_per_hour, growth.cost_per_hour),
        )
    bound = comparison.lower_bound_per_hour
    table.add_row(
        "no plan can cost less than", "", "", f"{bound:.4f}", _against(bound, growth.cost_per_hour), style="dim"
    )
    return table


def _against(cost: Decimal, growth: Decimal) -> str:
    return f"{(cost / growth - 1) * 100:+.0f} %"
