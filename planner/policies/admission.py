"""Which pods a round plans for, by their pools, constraints and back-off; those left over and over wait longer.

The back-off keeps an exhausted pool from being planned for in every round.
Source: the seed's step "Track consecutive IncompletePlacement results per unschedulable pod", per
class of equal pods here, with memory bounded.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from api.meta import format_timestamp
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.scale_up import PodBackoff
from planner.lifecycle.clocks.future_times import CLOCKS_DIFFER_AT_MOST
from planner.model.plan import TOO_MUCH, PlannerMemory, PodBackoffState, Reason
from planner.objects.kinds import Pod
from planner.policies.expendable import EXPENDABLE, Expendables
from planner.report.pace import PACED
from planner.report.unplaced import suiting_pools, why_unplaced
from planner.supply.limits import Limits
from planner.supply.machine_kind import PoolKinds
from planner.supply.places import Place
from planner.supply.pod_group import PodGroup, choose_pools

_KEPT: Final = 40
"""As many as the memory holds; each takes about 80 of its 4,096 bytes."""
_DOUBLINGS: Final = 40
"""The longest wait is reached long before."""
_HASH_CHARACTERS: Final = 16
_NO_WAIT: Final = timedelta()
_DEFAULT: Final = PodBackoff()
"""Of classes that no pool is for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A group with pods that have no place."""

    group: PodGroup
    reasons: tuple[Reason, ...]
    pods: tuple[Pod, ...]
    """Those without a place."""

    @property
    def is_miss(self) -> bool:
        """Whether it counts as a round without a place.

        Of pods that the scheduler refused where there was room it does not: others of that hash have found no miss.
        Nor of those that wait as their pool buys no faster. Nor of pods whose namespace has come to its bound or had
        its turn: those of other namespaces are of that hash.
        """
        return self.group.lost_places is None and self.reasons[0].code not in {
            "NotJudged",
            "BackOff",
            "VolumeUnbound",
            "WaitsForPods",
            EXPENDABLE,
            "NamespaceLimit",
            "LimitShared",
            TOO_MUCH,
            *PACED,
        }


def admit(
    groups: Sequence[PodGroup],
    pools: Sequence[NodePool],
    waiting: Mapping[str, PodBackoffState],
    pool_kinds: Mapping[str, PoolKinds],
    limits: Limits,
) -> tuple[list[PodGroup], list[Refused]]:
    """Return the groups to plan for, and the others with their reasons."""
    admitted: list[PodGroup] = []
    refused: list[Refused] = []
    expendables = Expendables(pools)
    for pod_group in groups:
        choice = choose_pools(pod_group.example, pools)
        buying = expendables.buying(pod_group.example, choice.pools)
        group = replace(pod_group, pools=buying or choice.pools)
        state = waiting.get(group.key)
        if group.example.over_budget:
            refused.append(Refused(group, (Reason(TOO_MUCH, group.example.over_budget),), group.pods))
        elif group.example.unjudged:
            fields = ", ".join(group.example.unjudged)
            message = f"the planner does not judge {fields} yet, and does not guess"
            refused.append(Refused(group, (Reason("NotJudged", message),), group.pods))
        elif group.example.blocked_by:
            reason = Reason("VolumeUnbound", group.example.blocked_by)
            refused.append(Refused(group, (reason,), group.pods))
        elif choice.pools and not buying:
            refused.append(Refused(group, (expendables.reason(group.example, choice.pools),), group.pods))
        elif state is not None:
            first = why_unplaced(group, pool_kinds, limits) if choice.obstacle is None else (choice.obstacle,)
            refused.append(Refused(group, (_back_off(state), *first), group.pods))
        elif choice.obstacle is not None:
            hint = suiting_pools(group.example, pool_kinds) if choice.obstacle.code == "NoPool" else ""
            message = f"{choice.obstacle.message}. {hint[:1].upper()}{hint[1:]}" if hint else choice.obstacle.message
            refused.append(Refused(group, (replace(choice.obstacle, message=message),), group.pods))
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


@dataclass(frozen=True, slots=True)
class Miss:
    """A class that was planned for in this round and has pods without a place."""

    key: str
    policy: PodBackoff
    affinity_fingerprint: str = ""
    """Hash of the pods that its affinity finds; empty without one."""


@dataclass(frozen=True, slots=True)
class BackedOff:
    """The back-off after a round."""

    memory: PlannerMemory
    at_ceiling: frozenset[str]
    """Classes that begin their longest wait now."""


def waiting(
    memory: PlannerMemory,
    supply: str,
    now: datetime,
    fingerprints: Mapping[str, str] | None = None,
    policies: Sequence[PodBackoff] = (),
) -> dict[str, PodBackoffState]:
    """Return the classes that are left out of this round; none if anything about supply has changed.

    Args:
        memory: what the round before has left.
        supply: hash of everything that could give a pod a place.
        now: by the clock of this worker.
        fingerprints: hashes of what the affinity of classes finds now, by class: one that finds something else is not
            left out.
        policies: of the pools as they are now. A class that would wait for longer than any of them asks for waits no
            more: the clock of the worker that wrote its end was ahead, or its pool was edited.
    """
    if memory.supply != supply:
        return {}
    finds = {} if fingerprints is None else fingerprints
    left_out: dict[str, PodBackoffState] = {}
    for key, state in memory.backoff.items():
        if state.until is None or (state.sought or "") != finds.get(key, ""):
            continue
        longest = max(_wait(policy, state.misses) or _NO_WAIT for policy in (*policies, _DEFAULT))
        if now < state.until <= now + longest + CLOCKS_DIFFER_AT_MOST:
            left_out[key] = state
    return left_out


def _wait(policy: PodBackoff, misses: int) -> timedelta | None:
    """Return how long a class is left out after so many rounds without a place, or None if it is not."""
    over = misses - policy.after_rounds
    return None if over < 0 else min(policy.max, policy.base * 2 ** min(over, _DOUBLINGS))


def remember(
    memory: PlannerMemory,
    supply: str,
    misses: Sequence[Miss],
    left_out: Mapping[str, PodBackoffState],
    now: datetime,
) -> BackedOff:
    """Return the memory after a round: one more miss for each class in `misses`, `left_out` as they were.

    From the policy's number of misses on, a class waits, twice as long with each further miss.
    """
    states = dict(left_out)
    ceiling: set[str] = set()
    # Misses were counted under the supply of then: under another one, counting begins anew.
    before = memory.backoff if memory.supply == supply else {}
    for miss in misses:
        state = before.get(miss.key)
        number = 1 if state is None or (state.sought or "") != miss.affinity_fingerprint else state.misses + 1
        wait = _wait(miss.policy, number)
        until = None if wait is None else (now + wait).replace(microsecond=0)
        if wait is not None and wait >= miss.policy.max:
            ceiling.add(miss.key)
        states[miss.key] = PodBackoffState(misses=number, until=until, sought=miss.affinity_fingerprint or None)
    longest_waiting = sorted(states.items(), key=lambda item: (-item[1].misses, item[0]))[:_KEPT]
    return BackedOff(PlannerMemory(backoff=dict(sorted(longest_waiting)), supply=supply), frozenset(ceiling))


def supply_hash(places: Sequence[Place], pool_kinds: Mapping[str, PoolKinds], limits: Limits) -> str:
    """Return a hash of everything that could give a pod a place, but not of how full nodes are.

    Where pods leave a node, the scheduler itself gives the room to waiting pods; a hash of that
    would end every back-off in every round of a busy cluster.
    """
    parts = {
        "places": [
            (
                place.machine.name,
                place.rank,
                sorted(place.labels.items()),
                [(t.key, t.value, t.effect) for t in place.taints],
            )
            for place in places
        ],
        "offers": [
            (
                name,
                found.obstacle is None,
                [
                    (
                        kind.offering.server_type,
                        kind.offering.location,
                        sorted(kind.labels.items()),
                        [(t.key, t.value, t.effect) for t in kind.taints],
                        sorted(kind.usable.items()),
                        kind.obstacle is None,
                        limits.left(kind, 1) > 0,
                    )
                    for kind in found.kinds
                ],
            )
            for name, found in sorted(pool_kinds.items())
        ],
    }
    return sha256(json.dumps(parts).encode()).hexdigest()[:_HASH_CHARACTERS]
