"""The problem that a round's snapshot holds: the very pods and offerings that Growth decides on, for its peers."""

from dataclasses import replace

from planner.model.plan import Snapshot
from planner.objects.counted_pods import is_demand
from planner.packing.assemble import assemble
from planner.packing.domains.pod_counts import count_pods
from planner.policies.admission import admit
from planner.scheduling.volume_places import resolve
from planner.supply.limits import limits_left
from planner.supply.machine_kind import kinds_of_pools
from planner.supply.machines import machines_of
from planner.supply.places import Place
from planner.supply.pod_group import GroupKeys, pod_groups
from planner.supply.seats import settle_seats
from simulator.peers.problem import PeerProblem


def problem_of(snapshot: Snapshot) -> PeerProblem:
    """Return what a round would have to buy machines for if none of those that are there had room.

    Pods, pools, DaemonSets, offerings and bounds are judged by the planner's own functions: pods
    count that are demand and have no seat on a coming machine; pods that the planner does not judge
    or that no pool takes are left out, as it buys nothing for them; bounds are what is left of them.
    Free room on nodes, and machines that a minimum asks for, are not part of the problem.
    """
    snapshot = replace(snapshot, pods=resolve(snapshot.pods, snapshot.volumes))
    machines, pool_kinds, keys = machines_of(snapshot), kinds_of_pools(snapshot), GroupKeys()
    limits = limits_left(machines.values(), pool_kinds)
    seated = settle_seats(machines.values(), snapshot.pods, keys, snapshot.now).holders
    waiting = [pod for pod in snapshot.pods if is_demand(pod) and pod.uid not in seated]
    groups, _ = admit(pod_groups(waiting, keys, snapshot.pods), snapshot.pools, {}, pool_kinds, limits)
    there = count_pods(machines.values(), (), {}, snapshot.namespaces)
    assembly = assemble(groups, (), pool_kinds, limits, (), pod_counts=there)
    offerings = [kind.offering for kind in assembly.given.kinds if not isinstance(kind, Place)]
    return PeerProblem(
        packing=assembly.problem,
        offerings=tuple(f"{offering.server_type} {offering.location}" for offering in offerings),
        resources=assembly.resources,
        currency="+".join(sorted({offering.currency for offering in offerings})),
    )
