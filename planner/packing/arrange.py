"""Packs a round: split over domains, packed, checked, and split anew where a domain had less room than it seemed to.

A split is made before it is known how groups share machines. Where a packing leaves pods of a
domain out, that domain is given no more than it took, and the rest goes elsewhere if it may. Where
pods are few, domains and machines are decided once more as one, and that is kept where it is better.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from planner.packing.assemble import Assembly
from planner.packing.check import fault_of
from planner.packing.choice.in_turns import in_turns
from planner.packing.choice.turns import costs_by_turn
from planner.packing.domains.domains import Ceilings, GroupPart
from planner.packing.domains.joint import JointProblem, in_any_order
from planner.packing.domains.landing import check_landing
from planner.packing.domains.levels import Levels, evened, homogeneous, levels_of, wishing_apart
from planner.packing.domains.pod_counts import PodCounts
from planner.packing.fallback.pack import pack
from planner.packing.preferences import preferred
from planner.packing.problem import Packer, Packing, PackingProblem

_TRIES: Final = 3
_FEW_PODS: Final = 100
"""Up to so many, domains and machines are decided as one: all of them, or some machines at a time."""
_ANSWERS: Final = 50
"""Looked at where pods of the first one cannot be bound in any order."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What is packed, and how."""

    assembly: Assembly
    packing: Packing
    refused: Mapping[int, int]
    """Pods by group that no order lets land where they were packed, and that were taken out.

    There are none unless the packer left others out that were to land before them.
    """
    left_out: bool = False
    """Whether the packer left pods out."""


Assembled = Callable[[Ceilings, Levels], Assembly]
"""Returns the problem under ceilings, and with levels."""


def arrange(assembled: Assembled, packer: Packer, pod_counts: PodCounts) -> Arrangement:
    """Return the best arrangement of some tries; one is enough where nothing depends on other machines' pods."""
    ceilings: dict[GroupPart, int] = {}
    best: tuple[tuple[object, ...], Arrangement] | None = None
    for _ in range(_TRIES):
        made = _packed(assembled(ceilings, {}), packer, pod_counts)
        score = _score(made)
        if best is None or score < best[0]:
            best = score, made
        more = _less_room(made)
        if not more:
            break
        ceilings |= more
    if best is None:
        raise AssertionError
    made = best[1]
    if made.assembly.is_related:
        made = _levelled(made, assembled, packer, pod_counts)
        if sum(group.count for group in made.assembly.given.groups) <= _FEW_PODS:
            made = _jointly(made, packer, pod_counts)
    return _liked(_apart(made, pod_counts), pod_counts)


def _levelled(made: Arrangement, assembled: Assembled, packer: Packer, pod_counts: PodCounts) -> Arrangement:
    """Return an arrangement at least as good, with machines evenly filled by groups that are spread over them."""
    # What a quick packer makes of each level tells which of them is worth the work of a better one.
    best, chosen = made, None
    for levels, b in levels_of(made.assembly.given, made.assembly.split):
        assembly = assembled({}, levels)
        for tried in (_even(assembly, _quickly, pod_counts, levels), _of_one_kind(assembly, pod_counts, levels, b)):
            if tried is not None and _score(tried) < _score(best):
                best, chosen = tried, (assembly, levels)
    if chosen is None:
        return made
    return min([best, _even(chosen[0], packer, pod_counts, chosen[1])], key=_score)


def _of_one_kind(assembly: Assembly, pod_counts: PodCounts, levels: Levels, b: int) -> Arrangement | None:
    """Return the arrangement with the fewest machines of one kind that all pods land on."""
    for packing in homogeneous(assembly.given, assembly.problem, assembly.split, levels, b):
        made = _checked(assembly, packing, pod_counts)
        if not fault_of(assembly.problem, packing) and not made.packing.unplaced:
            return made
    return None


def _even(assembly: Assembly, packer: Packer, pod_counts: PodCounts, levels: Levels) -> Arrangement:
    def packed(problem: PackingProblem) -> Packing:
        return evened(assembly.given, problem, assembly.split, packer(problem), levels)

    return _packed(assembly, packed, pod_counts)


def _quickly(problem: PackingProblem) -> Packing:
    return in_turns(problem, pack)


def _packed(assembly: Assembly, packer: Packer, pod_counts: PodCounts) -> Arrangement:
    return _checked(assembly, packer(assembly.problem), pod_counts)


def _checked(assembly: Assembly, packing: Packing, pod_counts: PodCounts) -> Arrangement:
    """Return the arrangement that a packing is, without the pods that no order lets land."""
    if not assembly.is_related:
        return Arrangement(assembly, packing, {})
    idle = assembly.idle_machines(packing)
    checked, lost = check_landing(assembly.given, assembly.split, packing, pod_counts, idle)
    refused: dict[int, int] = {}
    for k, items in lost.items():
        for group, number in assembly.split.shares[k].pods:
            refused[group] = refused.get(group, 0) + items * number
    return Arrangement(assembly, checked, refused, left_out=bool(packing.unplaced))


def _jointly(made: Arrangement, packer: Packer, pod_counts: PodCounts) -> Arrangement:
    """Return an arrangement at least as good, of which domains and machines are decided as one."""
    assembly, packing, relaxed = made.assembly, made.packing, made.assembly.relaxed
    if packing.proven == relaxed.cost(packing.nodes) and assembly.places_all(packing.unplaced):
        return made
    joint = JointProblem(assembly.given, assembly.split, pod_counts, assembly.top_up)
    known, topology = joint.in_groups(packing), joint.topology()
    problem = PackingProblem(
        joint.rows(relaxed.groups),
        relaxed.bins,
        relaxed.limits,
        top_ups=relaxed.top_ups,
        topology=topology,
        known=known,
    )
    # In turn: what is necessary, the same with other answers that cost as much, and what suffices more often.
    least: dict[tuple[tuple[int, int], ...], int] = {_left(known): packing.proven}
    for asked in (problem, replace(problem, answers=_ANSWERS), replace(problem, topology=in_any_order(topology))):
        answer = packer(asked)
        # Bounds of the same pods hold all together, but for those of stricter rules.
        if asked.topology is topology:
            least[_left(answer)] = max(least.get(_left(answer), 0), answer.proven)
        if answer.nodes == known.nodes and answer.unplaced == known.unplaced:
            return replace(made, packing=replace(packing, proven=least[_left(known)]))
        for candidate in (answer, *(other for other in answer.others if not fault_of(asked, other))):
            split, shared = joint.split_of(replace(candidate, proven=least.get(_left(candidate), 0)))
            idle = assembly.idle_machines(shared)
            checked, lost = check_landing(assembly.given, split, shared, pod_counts, idle)
            if not lost:
                return Arrangement(assembly.split_as(split), checked, {}, left_out=bool(checked.unplaced))
    return replace(made, packing=replace(packing, proven=least[_left(known)]))


def _left(packing: Packing) -> tuple[tuple[int, int], ...]:
    """Return the pods without a place by group: bounds of packings compare where these are the same."""
    return tuple(sorted(packing.unplaced.items()))


def _apart(made: Arrangement, pod_counts: PodCounts) -> Arrangement:
    """Return the arrangement with pods on machines of their own where they wish it and its machines have room."""
    assembly, packing = made.assembly, made.packing
    groups = wishing_apart(assembly.given, pod_counts.namespaces)
    even = evened(assembly.given, assembly.problem, assembly.split, packing, groups) if groups else packing
    return made if even is packing else _if_it_lands(made, even, pod_counts)


def _if_it_lands(made: Arrangement, packing: Packing, pod_counts: PodCounts) -> Arrangement:
    """Return the arrangement with another packing, unless a pod could not land then."""
    assembly = made.assembly
    if assembly.is_related:
        idle = assembly.idle_machines(packing)
        _, lost = check_landing(assembly.given, assembly.split, packing, pod_counts, idle)
        if lost:
            return made
    return replace(made, packing=packing)


def _liked(made: Arrangement, pod_counts: PodCounts) -> Arrangement:
    """Return the arrangement with machines that its pods prefer, unless one of them could not land then."""
    assembly = made.assembly
    if not any(pod.preferences.chooses_kinds for group in assembly.given.groups for pod in group.pods):
        return made
    packing = preferred(assembly, made.packing, pod_counts)
    return made if packing is made.packing else _if_it_lands(made, packing, pod_counts)


def _less_room(made: Arrangement) -> dict[GroupPart, int]:
    """Return the number of placed pods of each part that left some out and whose pods may go elsewhere."""
    followers, unplaced = made.assembly.split.followers, made.packing.unplaced
    placed: Counter[GroupPart] = Counter()
    short: set[GroupPart] = set()
    for k, share in enumerate(made.assembly.split.shares):
        parts = [(GroupPart(group, is_beside=True), number) for group, number in share.followers]
        if not parts and (share.cell is not None or share.group in followers):
            parts = [(GroupPart(share.group, share.cell), share.size)]
        for part, number in parts:
            placed[part] += number * (share.count - unplaced.get(k, 0))
            short.update([part] if k in unplaced else ())
    return {part: placed[part] for part in short}


def _score(made: Arrangement) -> tuple[object, ...]:
    """Return the score of an arrangement, the smaller the better: pods left out by tier, then cost by turn."""
    assembly = made.assembly
    missing: dict[int, int] = {}
    for group, placed in zip(assembly.given.groups, assembly.placed(made.packing.unplaced), strict=True):
        tier = group.tier
        missing[tier] = missing.get(tier, 0) + group.count - placed
    costs = costs_by_turn(assembly.problem, made.packing.nodes)
    return tuple((-tier, n) for tier, n in sorted(missing.items(), reverse=True)), costs
