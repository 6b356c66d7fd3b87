"""What the status says of priorities: what they cost more than price alone, in the next round and the last one."""

from collections.abc import Iterator

from api.meta import shown_time
from worker.commands.shared.cluster_view import ClusterView
from worker.commands.shared.tables import money_told, names


def choices(view: ClusterView) -> Iterator[str]:
    """Yield a sentence on what the next round buys, and one on the last round in which priorities cost something."""
    if view.plan.choice_costs_per_hour:
        costs = money_told(view.plan.choice_costs_per_hour, view.plan.currency)
        yield f"Of what the next round buys, priorities cost {costs}, beside price alone."
    by_pool = {pool.metadata.name: choice for pool in view.snapshot.pools if (choice := pool.status.choice) is not None}
    if by_pool:
        last = max(by_pool.values(), key=lambda choice: choice.at)
        pools = names(sorted(name for name, choice in by_pool.items() if choice == last))
        costs = money_told(last.costs_per_hour, last.currency)
        yield f"Of what was bought at {shown_time(last.at)} for {pools}, priorities cost {costs}, beside price alone."
