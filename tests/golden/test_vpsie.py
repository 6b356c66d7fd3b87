"""Golden rows of the seed "VPSie" on machines that go: numbers its public code asserts or follows from.

Each test carries the row of the reference page on node autoscalers, table 2B. Rows without a test, and why:

| row | why |
|---|---|
| 1 to 8 | a stored number of machines that is wished for: a NodePool has none, rounds decide anew |
| 12, 13, 14, 17, 18, 20, 21, 23 | growth: choice of types, requests of pods, pools of pods, scores, labels |
| 27 | a priority of use, pods and system pods together: here `order` is one of three, and ties go by name |
| 35, 36, 37 | modes and presets, which its code never consults: a pool says each number itself |
| 40, 42, 44 to 49 | prices, rate windows, and validation of its own kinds |
"""

from datetime import datetime, timedelta

import pytest

from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.pool_parts.window import Window
from planner.plan import plan
from planner.policies.pace.windows import is_open
from tests.builders import NOW, before, disruption_budget, node, node_pool, node_request, pod
from tests.planner.scenes import Scene, scene
from tests.tables import rows

LONG = {"growth.dev/underused-since": before(minutes=10)}
NODE = {"cpuPercent": 50, "memoryPercent": 50, "window": "10m"}
FREE = [{"nodes": "100%"}]


def of_three(*nodes, pods=(), mode="drain", **spec) -> Scene:
    """Return a pool whose machines go when they are little used, and a foreign Node with room for all pods."""
    down = {"mode": mode, "budgets": FREE, "node": NODE} | spec.pop("down", {})
    return scene(*nodes, pods=list(pods), scaleDown=down, **spec)


def three(number: int = 3, **changes) -> list[dict]:
    return [node(f"n{i}", annotations=LONG, **changes) for i in range(number)]


def leaving(given: Scene) -> list[str]:
    return [removal.node for removal in plan(given.snapshot()).removals]


@rows(
    ("ready", "wanted", "goes"),
    {"three, two of them": (3, 2, 2), "two of two": (2, 2, 2), "one of five": (1, 5, 1)},
)
def test_row_10_how_many_are_picked(ready: int, wanted: int, goes: int):
    group = {"lowerPercent": 10, "upperPercent": 40, "slow": wanted, "fast": wanted}
    given = of_three(*[node(f"n{i}") for i in range(ready)], down={"group": group, "node": None})
    del given.pools[0]["spec"]["scaleDown"]["node"]
    assert len(leaving(given)) == goes


def test_row_11_and_c4_what_is_not_ready_goes_first():
    group = {"lowerPercent": 10, "upperPercent": 40, "slow": 2, "fast": 2}
    nodes = [node("a", "cx42"), node("b", ready=False), node("c", ready=False)]
    given = scene(*nodes, scaleDown={"mode": "drain", "budgets": FREE, "group": group, "order": "oldest"})
    assert leaving(given) == ["b", "c"]


def test_row_11_a_request_goes_before_any_node():
    owner = {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "name": "default", "uid": "uid-default"}
    pending = [node_request(name, phase="Pending") for name in ("r1", "r2")]
    for each in pending:
        each["metadata"]["ownerReferences"] = [owner]
    made = plan(of_three(*three(1), *pending).snapshot())
    assert (made.cancelled, made.removals) == (("r1", "r2"), ())


@rows(
    ("uses", "goes"),
    {
        "24: all of the window below": (["28m"], True),
        "24: above now, whatever it was": (["1400m"], False),
    },
)
def test_row_24_and_c3_with_requests_the_window_is_whole(uses: list[str], goes):
    pods = [pod(f"p{i}", cpu, "64Mi", node="n0", owner="rs") for i, cpu in enumerate(uses)]
    given = of_three(*three(1), node("other", "cx42"), pods=pods)
    assert leaving(given) == (["n0"] if goes else [])


@rows(
    ("down", "status", "goes"),
    {
        "25: never scaled": ({"cooldownAfterScaleDown": "10m"}, {}, True),
        "25: just now": ({"cooldownAfterScaleDown": "10m"}, {"lastShrinkAt": before()}, False),
        "25: 11 minutes ago": ({"cooldownAfterScaleDown": "10m"}, {"lastShrinkAt": before(minutes=11)}, True),
        "C6: nought switches it off": ({"cooldownAfterScaleDown": "0s"}, {"lastShrinkAt": before()}, True),
    },
)
def test_row_25_and_c6_cool_down(down: dict, status: dict, goes):
    given = of_three(*three(1), down=down)
    given.pools[0]["status"] = status
    assert bool(leaving(given)) is goes


def test_row_28_at_its_minimum_none_goes():
    given = of_three(*three(3), limits={"min": 3})
    assert leaving(given) == []
    given.pools[0]["spec"]["limits"]["min"] = 2
    assert len(leaving(given)) == 1


def test_row_28_within_the_cool_down_it_says_so():
    given = of_three(*three(1), down={"cooldownAfterScaleDown": "10m"})
    given.pools[0]["status"] = {"lastShrinkAt": before(minutes=2)}
    (blocked,) = plan(given.snapshot()).blocked
    assert (blocked.trigger, blocked.reason) == ("Underused", "CoolDown")


@rows(
    ("annotation", "goes"),
    {"29: protected": ({"growth.dev/do-not-remove": "true"}, False), "29: not": ({}, True)},
)
def test_row_29_what_a_person_protects(annotation: dict, goes):
    given = of_three(node("n0", annotations=LONG | annotation))
    assert bool(leaving(given)) is goes


def volumes(**volume) -> dict:
    return {"volumes": [{"name": "data", **volume}]}


@rows(
    ("spec", "down", "goes"),
    {
        # An emptyDir on disk blocks there; here where the pool says so, as others do by a flag.
        "30: emptyDir, kept": (volumes(emptyDir={}), {"emptyDir": "keep"}, False),
        "30: emptyDir, evicted": (volumes(emptyDir={}), {}, True),
        "30 and C7: emptyDir in memory": (volumes(emptyDir={"medium": "Memory"}), {"emptyDir": "keep"}, True),
        "30: hostPath": (volumes(hostPath={"path": "/data"}), {}, False),
        "30: configMap": (volumes(configMap={"name": "c"}), {"emptyDir": "keep"}, True),
    },
)
def test_row_30_and_c7_local_storage(spec: dict, down: dict, goes):
    pods = [pod("p", "100m", "64Mi", node="n0", owner="rs", **spec)]
    given = of_three(*three(1), node("other", "cx42"), pods=pods, down=down)
    assert leaving(given) == (["n0"] if goes else [])


def test_row_30_without_pods():
    assert leaving(of_three(*three(1))) == ["n0"]


@pytest.mark.parametrize("name", ["kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"])
def test_row_31_a_single_system_pod_keeps_its_machine(name: str):
    pods = [pod(name, "100m", "64Mi", node="n0", owner="rs", namespace="kube-system")]
    made = plan(of_three(*three(1), node("other", "cx42"), pods=pods).snapshot())
    assert made.removals == ()
    assert [(each.node, each.reason) for each in made.blocked] == [("n0", "BlockedBySystemPod")]


def test_row_31_an_application_does_not():
    pods = [pod("app", "100m", "64Mi", node="n0", owner="rs")]
    assert leaving(of_three(*three(1), node("other", "cx42"), pods=pods)) == ["n0"]


def test_c9_a_budget_of_pods_keeps_a_machine_before_its_drain_begins():
    labels = {"app": "web"}
    pods = [pod("p", "100m", "64Mi", node="n0", owner="rs", labels=labels)]
    given = of_three(*three(1), node("other", "cx42"), disruption_budget("web", labels, allowed=0), pods=pods)
    made = plan(given.snapshot())
    assert made.removals == ()
    assert [(each.node, each.reason) for each in made.blocked] == [("n0", "BlockedByBudget")]


@rows(
    ("start", "end", "hour", "is_in"),
    {
        "34: 23 in 22 to 2": ("22:00", "02:00", 23, True),
        "34: 1 in 22 to 2": ("22:00", "02:00", 1, True),
        "34: 22 in 22 to 2": ("22:00", "02:00", 22, True),
        "34: 2 not in 22 to 2": ("22:00", "02:00", 2, False),
        "34: 12 not in 22 to 2": ("22:00", "02:00", 12, False),
        "34: the whole day": (None, None, 12, True),
    },
)
def test_row_34_hours(start: str | None, end: str | None, hour: int, is_in):
    at = datetime(2026, 3, 2, hour, tzinfo=NOW.tzinfo)
    assert is_open(Window(start=start, end=end), at) is is_in


@pytest.mark.parametrize(
    "hours",
    [
        {"start": "09001700"},
        {"start": "09:00"},
        {"start": "", "end": ""},
        {"start": "nine", "end": "five"},
        {"start": "25:00", "end": "26:00"},
        {"start": "09:60", "end": "17:00"},
        {"start": "12:00", "end": "12:00"},
    ],
    ids=["no hyphen", "single time", "empty", "words", "hour 25", "minute 60", "34: never open"],
)
def test_row_38_hours_that_cannot_be_read_are_refused(hours: dict):
    # There they allow everything; here the object is not taken, so that the window before stays.
    with pytest.raises(ValueError, match=r"start|end|window"):
        NodePool.model_validate(node_pool(scaleDown={"budgets": [{"nodes": 0, **hours}]}))


def test_predicted_use_of_85_percent_is_the_most():
    # The average times N/(N-1): two machines at 42.5 % leave one at 85 %.
    pods = [pod(f"p{i}", "850m", "64Mi", node=f"n{i}", owner="rs") for i in range(2)]
    assert len(leaving(of_three(*three(2), pods=pods, mode="wait"))) == 1
    pods[0] = pod("p0", "851m", "64Mi", node="n0", owner="rs")
    made = plan(of_three(*three(2), pods=pods, mode="wait").snapshot())
    assert made.removals == ()
    assert {each.reason for each in made.blocked} == {"BlockedByRemainingUse"}


def test_one_at_a_time_is_a_budget():
    # Its one removal a round, and none before the last has ended.
    given = of_three(*three(3), mode="wait", down={"budgets": [{"nodes": 1}]})
    assert len(leaving(given)) == 1


def test_the_window_to_the_second():
    given = of_three(node("n0", annotations={"growth.dev/underused-since": before(seconds=599)}))
    made = plan(given.snapshot())
    assert (made.removals, made.wake_at) == ((), NOW + timedelta(seconds=1))
