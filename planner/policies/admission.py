"""Which demand a round plans for: pool choice, constraints that are not judged yet, back-off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from api.timestamp import format_timestamp
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import PodBackoffState, Reason
from planner.objects.kinds import Pod
from planner.packing.assemble import Ask
from planner.report.unplaced import why_unplaced
from planner.supply.limits import Limits
from planner.supply.offers import PoolOffers
from planner.supply.pod_class import PodClass
from planner.supply.pool_choice import choose_pools


@dataclass(frozen=True, slots=True)
class Refused:
    """A class with pods that have no place."""

    pod_class: PodClass
    reasons: tuple[Reason, ...]
    pools: tuple[str, ...]
    pods: tuple[Pod, ...]
    """Those without a place."""

    @property
    def is_miss(self) -> bool:
        """Whether it counts as a round without a place."""
        return self.reasons[0].code not in {"NotJudged", "BackOff", "VolumeUnbound", "WaitsForPods"}


def admit(
    classes: Sequence[PodClass],
    pools: Sequence[NodePool],
    waiting: Mapping[str, PodBackoffState],
    offers: Mapping[str, PoolOffers],
    limits: Limits,
) -> tuple[list[Ask], list[Refused]]:
    """Return what to plan for, and what not, with its reasons."""
    asks: list[Ask] = []
    refused: list[Refused] = []
    for pod_class in classes:
        choice = choose_pools(pod_class.example, pools)
        ask = Ask(pod_class, choice.pools)
        state = waiting.get(pod_class.key)
        if pod_class.example.unjudged:
            fields = ", ".join(pod_class.example.unjudged)
            message = f"the planner does not judge {fields} yet, and does not guess"
            refused.append(Refused(pod_class, (Reason("NotJudged", message),), choice.pools, pod_class.pods))
        elif pod_class.example.blocked_by:
            reason = Reason("VolumeUnbound", pod_class.example.blocked_by)
            refused.append(Refused(pod_class, (reason,), choice.pools, pod_class.pods))
        elif state is not None:
            first = why_unplaced(ask, offers, limits) if choice.obstacle is None else (choice.obstacle,)
            refused.append(Refused(pod_class, (_back_off(state), *first), choice.pools, pod_class.pods))
        elif choice.obstacle is not None:
            refused.append(Refused(pod_class, (choice.obstacle,), (), pod_class.pods))
        else:
            asks.append(ask)
    return asks, refused


def _back_off(state: PodBackoffState) -> Reason:
    until = "" if state.until is None else f" until {format_timestamp(state.until)}"
    pods = " or which pods its affinity finds" if state.sought else ""
    return Reason(
        "BackOff",
        f"{state.misses} rounds in a row found no place: left out{until}, or until what can be bought{pods} changes",
    )
