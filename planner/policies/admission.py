"""Which demand a round plans for: pool choice, constraints that are not judged yet, back-off."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from api.timestamp import format_timestamp
from api.v1alpha1.node_pool import NodePool
from planner.model.plan import PodBackoffState, Reason
from planner.objects.kinds import Pod
from planner.report.unplaced import why_unplaced
from planner.supply.limits import Limits
from planner.supply.machine_kind import PoolKinds
from planner.supply.pod_group import PodGroup, choose_pools


@dataclass(frozen=True, slots=True)
class Refused:
    """A group with pods that have no place."""

    group: PodGroup
    reasons: tuple[Reason, ...]
    pods: tuple[Pod, ...]
    """Those without a place."""

    @property
    def is_miss(self) -> bool:
        """Whether it counts as a round without a place."""
        return self.reasons[0].code not in {"NotJudged", "BackOff", "VolumeUnbound", "WaitsForPods"}


def admit(
    groups: Sequence[PodGroup],
    pools: Sequence[NodePool],
    waiting: Mapping[str, PodBackoffState],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
) -> tuple[list[PodGroup], list[Refused]]:
    """Return what to plan for, and what not, with its reasons."""
    admitted: list[PodGroup] = []
    refused: list[Refused] = []
    for pod_group in groups:
        choice = choose_pools(pod_group.example, pools)
        group = replace(pod_group, pools=choice.pools)
        state = waiting.get(group.key)
        if group.example.unjudged:
            fields = ", ".join(group.example.unjudged)
            message = f"the planner does not judge {fields} yet, and does not guess"
            refused.append(Refused(group, (Reason("NotJudged", message),), group.pods))
        elif group.example.blocked_by:
            reason = Reason("VolumeUnbound", group.example.blocked_by)
            refused.append(Refused(group, (reason,), group.pods))
        elif state is not None:
            first = why_unplaced(group, pool_kinds, limits) if choice.obstacle is None else (choice.obstacle,)
            refused.append(Refused(group, (_back_off(state), *first), group.pods))
        elif choice.obstacle is not None:
            refused.append(Refused(group, (choice.obstacle,), group.pods))
        else:
            admitted.append(group)
    return admitted, refused


def _back_off(state: PodBackoffState) -> Reason:
    until = "" if state.until is None else f" until {format_timestamp(state.until)}"
    pods = " or which pods its affinity finds" if state.sought else ""
    return Reason(
        "BackOff",
        f"{state.misses} rounds in a row found no place: left out{until}, or until what can be bought{pods} changes",
    )
