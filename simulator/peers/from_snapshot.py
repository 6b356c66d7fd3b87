"""The problem that a round's snapshot holds: the very pods and offerings that Growth decides on, for its peers."""

from dataclasses import replace

from planner.model.plan import Snapshot
from planner.objects.demand import is_demand
from planner.packing.assemble import assemble
from planner.packing.domains.pod_counts import count_pods
from planner.policies.admission import admit
from planner.scheduling.volume_places import resolve
from planner.supply.limits import limits_left
from planner.supply.machines import machines_of
from planner.supply.offers import pool_offers
from planner.supply.pod_class import ClassKeys, group
from planner.supply.seats import settle_seats
from simulator.peers.problem import Problem


def problem_of(snapshot: Snapshot) -> Problem:
    """Return what a round would have to buy machines for if none of those that are there had room.

    Pods, pools, DaemonSets, offerings and bounds are judged by the planner's own functions: pods
    count that are demand and have no seat on a coming machine; pods that the planner does not judge
    or that no pool takes are left out, as it buys nothing for them; bounds are what is left of them.
    Free room on nodes, and machines that a minimum asks for, are not part of the problem.
    """
    snapshot = replace(snapshot, pods=resolve(snapshot.pods, snapshot.volumes))
    machines, offers, keys = machines_of(snapshot), pool_offers(snapshot), ClassKeys()
    limits = limits_left(machines.values(), offers)
    seated = settle_seats(machines.values(), snapshot.pods, keys, snapshot.now).holders
    waiting = [pod for pod in snapshot.pods if is_demand(pod) and pod.uid not in seated]
    asks, _ = admit(group(waiting, keys, snapshot.pods), snapshot.pools, {}, offers, limits)
    there = count_pods(machines.values(), (), {}, snapshot.namespaces)
    assembly = assemble(asks, (), offers, limits, (), pod_counts=there)
    offerings = [source.offer.offering for source in assembly.sources if source.offer is not None]
    return Problem(
        packing=assembly.problem,
        offerings=tuple(f"{offering.server_type} {offering.location}" for offering in offerings),
        resources=assembly.resources,
        currency="+".join(sorted({offering.currency for offering in offerings})),
    )
