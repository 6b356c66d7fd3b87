"""The usage of each machine: one that has used little for the whole of a window goes, whatever its pods request.

Samples of usage alone begin such a removal, and requests alone say whether its pods find room elsewhere: the scheduler
goes by these. Where the window is not full, the machine stays. Nothing is written for it: each worker keeps samples.
Source: VPSie's scale-down; kubernetes-sigs/metrics-server.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from api.duration import format_duration
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.utilisation import NodeUtilisation
from planner.model.plan import BlockedMachine
from planner.policies.pace.budgets import UNDERUSED
from planner.policies.port import Advice, Candidate, PolicyView, Proposal
from planner.policies.safety.blocked import BlockedBy
from planner.policies.triggers.underused import may_shrink, underused
from planner.policies.utilisation.shares import capacity_of
from planner.policies.utilisation.usage_window import UsageJudgement, judged

ASKED_EVERY: Final = timedelta(seconds=60)
"""So often there are new samples."""


def advice_by_usage(pools: Iterable[NodePool], view: PolicyView) -> Advice:
    """Return the machines of these pools that have used little, when time may change that, and what is unknown."""
    proposals: list[Proposal] = []
    wakes: list[datetime] = []
    blocked: list[BlockedMachine] = []
    for pool in pools:
        wish = pool.spec.scale_down.node
        if wish is None:
            continue
        for candidate in may_shrink(pool, view):
            judgement = usage_of(candidate, wish, view)
            if judgement.is_little:
                proposals.append(underused(candidate, _why(wish), view.now))
                continue
            wakes.append(max(judgement.full_at or view.now, view.now + ASKED_EVERY))
            if judgement.unknown and judgement.full_at is None:
                # A window that fills needs nobody. Where samples stay away, people should hear of it.
                blocked.append(candidate.blocked(UNDERUSED, BlockedBy.USAGE.value, _unknown(judgement, view)))
    return Advice(tuple(proposals), wake_at=min(wakes, default=None), blocked=tuple(blocked))


def usage_of(candidate: Candidate, wish: NodeUtilisation, view: PolicyView) -> UsageJudgement:
    """Return what the samples of a machine's Node say."""
    node = candidate.machine.node
    if node is None:
        return UsageJudgement(is_little=False, unknown="it has no Node")
    samples = view.usage.samples.get(node.name, ())
    return judged(samples, capacity_of(candidate.machine), wish, view.now, node.created_at)


def _unknown(judgement: UsageJudgement, view: PolicyView) -> str:
    return f"{judgement.unknown}: {view.usage.problem}" if view.usage.problem else judgement.unknown


def _why(wish: NodeUtilisation) -> str:
    bounds = f"{wish.cpu_percent} % of its cpu and {wish.memory_percent} % of its memory"
    often = "" if wish.fraction is None else f" in {wish.fraction} % of the samples"
    return f"It has used less than {bounds}{often} for {format_duration(wish.window)}"
