"""What a new machine carries is seen on the Nodes that are there: amounts of DaemonSet pods, and static pods.

Source: Kubernetes docs, "Limit Ranges" (defaults at admission), "Static Pods" (mirror pods); cluster-autoscaler FAQ.
"""

import pytest

from tests.builders import Json, before, daemon_set, node, node_request, pod
from tests.planner.outcome import planned, types
from tests.planner.scenes import scene
from tests.tables import rows

ANNOTATED = {"kubernetes.io/config.mirror": "hash"}


def agent(on: str, cpu: str, *, made: str | None = None, generation: int = 0, **more: object) -> Json:
    labels = {"pod-template-generation": str(generation)} if generation else {}
    raw = pod(
        f"agent-{on}", cpu, "128Mi", namespace="kube-system", node=on, owner=("DaemonSet", UID), labels=labels, **more
    )
    if made is not None:
        raw["metadata"]["creationTimestamp"] = made
    return raw


TEMPLATE = daemon_set("agent", "100m")
UID = TEMPLATE["metadata"]["uid"]


def room_for(cpu: str, *objects: Json, daemons: Json = TEMPLATE, **parts: object) -> list[str]:
    """Return what is bought for a pod of this size: a cx22 has 2 cpu, a cx32 has 4."""
    return types(planned(scene(pod("a", cpu), daemons, *objects, types=("cx22", "cx32"), **parts)))


def filled(name: str, kind: str = "cx22", cpu: str = "1", **changes: object) -> list[Json]:
    return [node(name, kind, spec={"unschedulable": True}, **changes), pod(f"fill-{name}", cpu, node=name)]


@rows(
    ("residents", "most"),
    {
        "no pod yet, so the template": ([], "1900m"),
        "a pod that was given more": ([*filled("n"), agent("n", "400m")], "1600m"),
        "a pod that was given less": ([*filled("n"), agent("n", "20m")], "1980m"),
        "its own type before others": (
            [*filled("n"), agent("n", "300m"), *filled("m", "cx32"), agent("m", "900m")],
            "1700m",
        ),
        "its pool before others": (
            [*filled("m", "cx42"), agent("m", "300m"), *filled("o", pool="other"), agent("o", "900m")],
            "1700m",
        ),
        "any Node": ([*filled("o", pool=None), agent("o", "500m")], "1500m"),
        "a finished pod does not count": ([*filled("n"), agent("n", "400m", phase="Failed")], "1900m"),
        "the newest pod": (
            [
                *filled("n"),
                agent("n", "700m", made=before(days=3)),
                *filled("m"),
                agent("m", "300m", made=before(days=1)),
            ],
            "1700m",
        ),
        "of pods as old as each other the largest": (
            [*filled("n"), agent("n", "700m"), *filled("m"), agent("m", "300m")],
            "1300m",
        ),
        "the new generation, though another one is made later": (
            [
                *filled("n"),
                agent("n", "700m", generation=1, made=before(hours=1)),
                *filled("m"),
                agent("m", "300m", generation=2, made=before(hours=2)),
            ],
            "1700m",
        ),
        "the new generation of another pool before the old one here": (
            [
                *filled("n"),
                agent("n", "700m", generation=1),
                *filled("o", pool="other"),
                agent("o", "300m", generation=2),
            ],
            "1700m",
        ),
    },
)
def test_amounts_of_daemon_set_pods(residents, most):
    assert room_for(most, *residents) == ["cx22"]
    assert room_for(f"{int(most.removesuffix('m')) + 1}m", *residents) == ["cx32"]


@pytest.mark.parametrize(("template", "most"), [("600m", "1400m"), ("100m", "1700m")])
def test_before_a_rollout_has_made_a_pod_the_larger_of_both_counts(template, most):
    changed = daemon_set("agent", template)
    changed["metadata"]["annotations"] = {"deprecated.daemonset.template.generation": "2"}
    there = [*filled("n"), agent("n", "300m", generation=1)]
    assert room_for(most, *there, daemons=changed) == ["cx22"]
    assert room_for(f"{int(most.removesuffix('m')) + 1}m", *there, daemons=changed) == ["cx32"]


def test_a_coming_machine_has_the_same():
    coming = node_request("coming", createAttemptAt=before(seconds=2))
    there = [*filled("n"), agent("n", "400m")]
    assert room_for("1600m", coming, *there) == []
    assert room_for("1601m", coming, *there) == ["cx32"]


def test_a_pod_that_is_missing_on_a_node_will_ask_as_the_others_do():
    there = [*filled("n"), agent("n", "400m"), node("open")]
    assert room_for("1600m", *there) == []
    assert room_for("1601m", *there) == ["cx32"]


def static(on: str, cpu: str = "300m", name: str = "proxy") -> Json:
    return pod(
        f"{name}-{on}",
        cpu,
        "64Mi",
        namespace="kube-system",
        node=on,
        owner=("Node", f"uid-{on}"),
        annotations=ANNOTATED,
    )


@rows(
    ("residents", "most"),
    {
        "all have it": ([*filled("n"), static("n"), *filled("m"), static("m")], "1600m"),
        "they differ, so the larger": ([*filled("n"), static("n", "500m"), *filled("m"), static("m")], "1400m"),
        "one lacks it": ([*filled("n"), static("n"), *filled("m")], "1900m"),
        "one that is not Ready lacks it": ([*filled("n"), static("n"), *filled("m", ready=False)], "1600m"),
        "it is on control planes only": ([*filled("master", pool=None), static("master"), *filled("n")], "1900m"),
        "it is on another type": ([*filled("n", "cx42"), static("n")], "1900m"),
        "each has another one": ([*filled("n"), static("n"), *filled("m"), static("m", name="vip")], "1900m"),
    },
)
def test_static_pods_that_all_nodes_have(residents, most):
    assert room_for(most, *residents) == ["cx22"]
    assert room_for(f"{int(most.removesuffix('m')) + 1}m", *residents) == ["cx32"]


def test_a_static_pod_is_there_whatever_taints_the_pool_has():
    taint = {"key": "gpu", "effect": "NoExecute"}
    there = [*filled("n", taints=[taint]), static("n")]
    tolerates = {"tolerations": [{"key": "gpu", "operator": "Exists"}]}
    template = {"taints": [taint]}
    given = scene(pod("a", "1701m", **tolerates), *there, types=("cx22", "cx32"), template=template)
    assert types(planned(given)) == ["cx32"]


def test_a_coming_machine_has_static_pods_until_they_are_there():
    coming = node_request("coming", createAttemptAt=before(seconds=2))
    there = [*filled("n"), static("n"), *filled("m"), static("m")]
    assert room_for("1601m", coming, *there) == ["cx32"]
    assert room_for("1600m", coming, *there) == []
