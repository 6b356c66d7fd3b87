"""What pods are worth: the least share of a machine's price that one takes, were it bought today and filled by such.

A machine that costs more than its pods are worth is the one to look at first.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from planner.packing.assemble import fits_kind
from planner.scheduling.attachments import amount_of, asked
from planner.supply.machine_kind import MachineKind
from planner.supply.pod_group import PodGroup


def worths(groups: Iterable[PodGroup], kinds: Sequence[MachineKind]) -> list[Decimal]:
    """Return the worth of one pod of each group per hour; 0 of one that no machine can be bought for."""
    return [_worth(group, kinds) for group in groups]


def _worth(group: PodGroup, kinds: Sequence[MachineKind]) -> Decimal:
    needs = [(name, amount) for name, amount in asked(group.example).items() if amount > 0]
    shares = sorted((share, i) for i, kind in enumerate(kinds) if (share := _share(needs, kind)) is not None)
    # The cheapest first: of most groups the first one or two are looked at closely.
    return Decimal(next((share for share, i in shares if fits_kind(group, kinds[i])), 0))


def _share(needs: Iterable[tuple[str, int]], kind: MachineKind) -> float | None:
    price, most = float(kind.offering.price_per_hour), 0.0
    for name, amount in needs:
        usable = amount_of(kind.usable, name)
        if usable < amount:
            return None
        most = max(most, amount / usable)
    return price * most
