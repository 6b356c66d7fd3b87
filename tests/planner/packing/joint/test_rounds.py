"""The rounds that are drawn have all that makes a small round hard."""

from collections import Counter

from tests.planner.packing.joint.compare import kinds_of
from tests.planner.packing.joint.ordinary import MOST_PODS, ordinary
from tests.planner.packing.joint.small_round import SUMS, small_round
from tests.planner.scenes import Scene
from tests.planner.selecting import spreads


def parts(scene: Scene) -> set[str]:
    """Return what a round has, in words."""
    given = small_round(scene)
    examples = [w.example for w in given.workloads]
    return {
        word
        for word, is_there in {
            "several workloads": len(given.workloads) > 1,
            "priorities": len({w.priority for w in given.workloads}) > 1,
            "residents of a workload": any(
                p["metadata"]["labels"] == e["metadata"]["labels"]
                for s in given.there
                for p in s.pods
                for e in examples
            ),
            "DaemonSets": bool(scene.daemon_sets),
            "tainted nodes": any(n["spec"]["taints"] for n in scene.nodes),
            "tainted pools": any("template" in p["spec"] for p in scene.pools),
            "cordoned nodes": any(s.is_cordoned for s in given.there),
            "nodes of a pool": any("growth.dev/pool" in n["metadata"]["labels"] for n in scene.nodes),
            "few machines left": any(left < MOST_PODS for left in given.left.values()),
            "minimums": bool(given.missing),
            "machines in flight": bool(scene.requests),
            "seats": any(r["spec"]["reservedFor"] for r in scene.requests),
            "pods on their way out": any("deletionTimestamp" in p["metadata"] for p in scene.pods),
            "minDomains": any("minDomains" in c for e in examples for c in spreads(e)),
            "maxSkew 2": any(c["maxSkew"] == 2 for e in examples for c in spreads(e)),
            "ports": any("ports" in e["spec"]["containers"][0] for e in examples),
            **{f"limits of {name}": any(name in p["spec"]["limits"] for p in scene.pools) for name in SUMS},
            "node selectors": any("nodeSelector" in e["spec"] for e in examples),
        }.items()
        if is_there
    }


def test_400_rounds_have_everything_several_times():
    scenes = [ordinary(seed) for seed in range(400)]
    found = Counter(word for scene in scenes for word in parts(scene))
    assert min(found.values()) >= 5, found
    assert len(found) == 20


def test_rounds_are_small_and_mostly_ask_to_be_spread_or_apart():
    tables = [small_round(ordinary(seed)) for seed in range(400)]
    assert all(sum(len(w.names) for w in given.workloads) <= MOST_PODS for given in tables)
    assert all(len({kind.name.split("/")[1] for kind in given.kinds}) <= 4 for given in tables)
    asked = Counter(kind.split()[0] for given in tables for kind in kinds_of(given))
    assert asked["spread"] + asked["apart"] > 0.8 * asked.total()


def test_a_number_always_gives_the_same_round():
    assert ordinary(17) == ordinary(17) != ordinary(18)
