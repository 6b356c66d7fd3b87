"""The judge against the real scheduler: hundreds of small situations, drawn from a seed over tables.

Where the judge says that a pod fits, the scheduler binds it, and to a node that the judge allows;
where it allows none, the scheduler refuses. A pod that prefers one node is bound to that node if and
only if the judge allows it, so that a node allowed by mistake shows too.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import pytest

from planner.parsing.objects import parse_objects, parse_pod
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import sites_of
from planner.scheduling.volume_places import resolve
from tests.e2e import (
    situations_nodes,
    situations_nominated,
    situations_pods,
    situations_resources,
    situations_spread,
    situations_volumes,
)
from tests.e2e.situations import Situation
from tests.e2e.situations_run import ALL_PODS, NODES, SPACES, Answer, Scene, play, stage
from tests.e2e.situations_volumes import CLAIMS, CLASSES, CSI_NODES, VOLUMES

pytestmark = pytest.mark.e2e

SEED = 20
_COPIED_TERM = (
    "kube-scheduler 1.36 lets a namespaceSelector that no labels at all meet, such as DoesNotExist, mean every "
    "namespace in the pod's own terms (mergeAffinityTermNamespacesIfNotEmpty changes a copy); the judge keeps to what "
    "is documented"
)
LISTED: dict[str, str] = {
    "namespaces-without-a-label-0": _COPIED_TERM,
    "namespaces-without-a-label-1": _COPIED_TERM,
    "parts-of-a-byte-0": "requests are rounded up to whole bytes by container, the scheduler rounds up their sum",
    "volumes-not-judged-0": "disks of old plugins in the pod itself are named as not judged, so no machine is bought",
    "volumes-not-judged-1": "a volume that is attached though no pod there uses it (VolumeAttachment) is not read",
    "volumes-not-judged-2": "what storage is left (CSIStorageCapacity) is not read",
}
"""Differences that are known, by situation, each with its reason."""

Family = Callable[[Situation, Random, int], None]
FAMILIES: tuple[tuple[Family, int], ...] = (
    (situations_resources.resources, 36),
    (situations_resources.parts_of_a_byte, 1),
    (situations_resources.resized, 10),
    (situations_nodes.node_affinity, 28),
    (situations_nodes.taints, 28),
    (situations_nodes.host_ports, 12),
    (situations_nodes.port_addresses, len(situations_nodes.ADDRESSES) ** 2),
    (situations_pods.affinity, 20),
    (situations_pods.first_of_group, 14),
    (situations_pods.anti_affinity, 18),
    (situations_pods.kept_away_from, 16),
    (situations_pods.near_and_apart, 10),
    (situations_pods.namespaces_without_a_label, 2),
    (situations_spread.spread_cases, len(situations_spread.CASES)),
    (situations_spread.spread, 30),
    (situations_spread.spread_and_apart, 6),
    (situations_pods.gates, 1),
    (situations_volumes.bound_elsewhere, 12),
    (situations_volumes.first_consumer, 12),
    (situations_volumes.local_volumes, 8),
    (situations_volumes.local_volumes_for_two_claims, 3),
    (situations_volumes.attach_cases, 4),
    (situations_volumes.attach_limits, 8),
    (situations_volumes.claims_in_trouble, 10),
    (situations_volumes.ephemeral_volumes, 3),
    (situations_volumes.volumes_not_judged, 3),
    (situations_nominated.kept_room, 12),
    (situations_nominated.kept_neighbours, 20),
)
BATCH = 64
"""Situations at a time: few enough that all have an answer before their nodes count as lost."""


def drawn(seed: int) -> list[Situation]:
    """Return all situations, in an order that mixes the families; those with kept nodes come last: they wait most."""
    situations: list[Situation] = []
    for family, count in FAMILIES:
        for i in range(count):
            name = f"{family.__name__.replace('_', '-')}-{i}"
            situation = Situation(name, Random(f"{seed} {name}"))
            family(situation, situation.rng, i)
            if situation.can_be_steered and not situation.steered_to:
                situation.steer(situation.rng.choice(situation.nodes)["metadata"]["name"])
            situations.append(situation)
    Random(seed).shuffle(situations)
    return sorted(situations, key=lambda situation: bool(situation.nominated))


def differences(situations: Sequence[Situation], scene: Scene, answers: dict[str, Answer]) -> dict[str, str]:
    """Return what the judge got wrong, by situation."""
    parsed = parse_objects(
        nodes=scene.objects[NODES],
        pods=scene.objects[ALL_PODS],
        claims=scene.objects[CLAIMS],
        volumes=scene.objects[VOLUMES],
        storage_classes=scene.objects[CLASSES],
        csi_nodes=scene.objects[CSI_NODES],
        namespaces=scene.objects[SPACES],
    )
    assert not parsed.problems
    pods = {name: parse_pod(pod) for name, pod in scene.pods.items()}

    judge = Judge(sites_of(parsed.nodes, resolve(parsed.pods, parsed.volumes)), parsed.namespaces)
    found: dict[str, str] = {}
    for s in situations:
        # Each pod came alone: those of other situations are not there yet.
        pod = resolve((*parsed.pods, pods[s.name]), parsed.volumes)[-1]
        verdicts = judge.verdicts(pod)
        allowed = {name for name, verdict in verdicts.items() if verdict is None}
        answer = answers[s.name]
        wrong = answer.node not in allowed if answer.node else bool(allowed)
        missed = s.steered_to in allowed and answer.node != s.steered_to
        if wrong or missed:
            own = {node["metadata"]["name"]: verdicts[node["metadata"]["name"]] for node in s.nodes}
            found[s.name] = f"scheduler: {answer}; preferred: {s.steered_to}; judge: {own}"
    return found


def outcome(situation: Situation, answer: Answer) -> str:
    """Return in one word what became of a pod."""
    if not answer.node:
        return answer.reason
    return "preferred node" if answer.node == situation.steered_to else "another node"


async def test_the_judge_and_the_scheduler_agree(control_plane):
    situations = drawn(SEED)
    found: dict[str, str] = {}
    outcomes: Counter[str] = Counter()
    began = time.monotonic()
    async with stage(control_plane) as api:
        async for batch, scene, answers in play(api, situations, BATCH):
            found |= differences(batch, scene, answers)
            outcomes.update(outcome(s, answers[s.name]) for s in batch)
    print(f"{len(situations)} situations in {time.monotonic() - began:.0f} s: {dict(outcomes)}")
    for name, what in found.items():
        print(f"{name}: {LISTED.get(name, 'NOT LISTED')}: {what}")
    assert set(found) == set(LISTED)
    # Agreement says little where one answer is always right.
    assert min(outcomes[each] for each in ("preferred node", "another node", "Unschedulable")) > len(situations) / 10
