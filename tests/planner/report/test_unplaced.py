"""Why a pod has no place: the code is stable, the sentence names what is missing and by how much."""

import pytest

from api.keys import LABEL_HOSTNAME
from api.quantity import rounded_amount
from planner.plan import plan
from tests.builders import (
    DRIVER,
    claim,
    daemon_set,
    differing,
    kwok_node_class,
    node_pool,
    pod,
    server_type,
    storage_class,
)
from tests.planner.scenes import Scene, scene
from tests.planner.wishes import needs, using

NAMED = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}]}]
        }
    }
}


def reasons(raw, types=("cx22", "cx42"), kinds=(), **spec):
    given = scene(raw, kinds=kinds, pools=[node_pool(types=types, **spec)])
    (unplaced,) = plan(given.snapshot()).unplaced
    return [(r.code, r.message, r.server_type) for r in unplaced.reasons]


def test_too_large_names_the_nearest_type_and_what_it_lacks():
    assert reasons(pod("a", "10", "20Gi")) == [
        (
            "TooLarge",
            (
                "no machine of pool default is large enough for cpu 10, memory 20Gi; "
                "cx42: cpu short by 2, memory short by 4Gi"
            ),
            "cx42",
        )
    ]


def test_the_nearest_type_lacks_the_fewest_resources():
    kinds = [server_type("wide", capacity={"cpu": "4", "memory": "1Ti"}), server_type("cx42")]
    ((code, message, kind),) = reasons(pod("a", "9", "200Gi"), ("wide", "cx42"), kinds)
    assert (code, kind) == ("TooLarge", "wide")
    assert message.endswith(
        " for cpu 9, memory 200Gi; wide: cpu short by 5; cx42: cpu short by 1, memory short by 184Gi"
    )


def test_each_kind_of_miss_is_told_once_and_three_at_most():
    # 12 vCPU and 40 GiB: each of a to d lacks another mix, e as much as a, f more than a of both.
    sizes = {"a": (11, 20), "b": (10, 25), "c": (9, 30), "d": (8, 35), "e": (11, 20), "f": (6, 8)}
    kinds = [server_type(n, capacity={"cpu": str(c), "memory": f"{m}Gi"}) for n, (c, m) in sizes.items()]
    ((_, message, kind),) = reasons(pod("a", "12", "40Gi"), tuple(sizes), kinds)
    assert message.partition("; ")[2] == (
        "c: cpu short by 3, memory short by 10Gi; d: cpu short by 4, memory short by 5Gi; "
        "b: cpu short by 2, memory short by 15Gi"
    )
    assert kind == "c"


def test_a_device_that_no_machine_has():
    ((code, message, _),) = reasons(pod("a", requests={"nvidia.com/gpu": "1"}))
    assert code == "TooLarge"
    assert message.endswith(" for nvidia.com/gpu 1; cx22: nvidia.com/gpu short by 1")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodeSelector": {"kubernetes.io/arch": "arm64"}}, "asks for kubernetes.io/arch In arm64, but cx22 has amd64"),
        ({"nodeSelector": {"disk": "ssd"}}, "asks for disk In ssd, but cx22 has none"),
        ({"nodeSelector": {"disk": ""}}, 'asks for disk In "", but cx22 has none'),
        ({"nodeSelector": {"empty": "x"}}, 'asks for empty In x, but cx22 has ""'),
        (
            {"affinity": needs([{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["hel1", "nbg1"]}])},
            "asks for topology.kubernetes.io/zone In hel1, nbg1, but cx22 has fsn1",
        ),
        ({"affinity": needs([])}, "a node affinity term without expressions selects no node"),
        (
            {"affinity": needs([{"key": "cores", "operator": "Gt", "values": ["abc"]}])},
            "Gt of cores in the pod's node affinity needs a whole number, got abc",
        ),
        (
            {"affinity": needs([{"key": "cores", "operator": "Lt", "values": ["8"]}])},
            "asks for cores Lt 8, but cx22 has none",
        ),
        (
            {"affinity": needs([{"key": LABEL_HOSTNAME, "operator": "DoesNotExist"}])},
            "asks for a node without the label kubernetes.io/hostname, which each machine that Growth buys has",
        ),
        (
            {"affinity": needs([{"key": LABEL_HOSTNAME, "operator": "In", "values": ["a", "b"]}])},
            "asks for the node with kubernetes.io/hostname a or b, which is not a machine that can be bought",
        ),
        ({"affinity": NAMED}, "asks for the node named nowhere, which is not a machine that can be bought"),
    ],
)
def test_labels_that_no_machine_has(spec, words):
    ((code, message, kind),) = reasons(pod("a", **spec), template={"labels": {"empty": ""}})
    assert (code, kind) == ("NoCompatibleOffering", "cx22")
    assert message.startswith("no server type of pool default suits: ")
    assert words in message


def test_a_taint_of_the_pool_that_the_pod_does_not_tolerate():
    template = {"taints": [{"key": "team", "value": "blue", "effect": "NoSchedule"}]}
    ((code, message, _),) = reasons(pod("a"), template=template)
    assert code == "NoCompatibleOffering"
    assert message.endswith("taint team=blue:NoSchedule is not tolerated")


@pytest.mark.parametrize(
    ("annotations", "provisioner", "words"),
    [
        ({}, "kubernetes.io/no-provisioner", "no node can have a volume of the pod: none fits its claim"),
        (
            {"volume.kubernetes.io/selected-node": "old"},
            DRIVER,
            "a volume of the pod can only be used where the node is old",
        ),
    ],
)
def test_a_claim_that_no_machine_can_have(annotations, provisioner, words):
    given = scene(using(pod("a"), "data"))
    given.claims = [differing(claim("data"), {"metadata": {"annotations": annotations}})]
    given.storage_classes = [storage_class(provisioner=provisioner)]
    (unplaced,) = plan(given.snapshot()).unplaced
    (reason,) = unplaced.reasons
    assert reason.code == "VolumeElsewhere"
    assert reason.message.startswith(words)


def test_a_max_that_is_reached_is_named_with_what_raising_it_brings():
    given = Scene(classes=[kwok_node_class()], pods=[pod("a", "2"), pod("b", "2")])
    given.pools = [node_pool(types=["cx22"], limits={"max": 1})]
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [(r.code, r.message) for r in unplaced.reasons] == [
        ("LimitReached", "pool default is at its max of 1 machines; raising it by 1 places 1 pod, on a cx22")
    ]
    given.pools = [node_pool(types=[{"name": "cx22", "max": 1}])]
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [(r.code, r.message, r.server_type) for r in unplaced.reasons] == [
        ("LimitReached", "pool default is at its max of 1 machines of type cx22; raising it by 1 places 1 pod", "cx22")
    ]


def test_limits_and_missing_capacity_are_both_told():
    kinds = [server_type("cx22"), server_type("cx42", sold_out=True)]
    given = Scene(classes=[kwok_node_class(*kinds)], pods=[pod("a", "2"), pod("b", "2")])
    given.pools = [node_pool(types=[{"name": "cx22", "max": 1}, "cx42"])]
    (unplaced,) = plan(given.snapshot()).unplaced
    assert [r.code for r in unplaced.reasons] == ["OfferingUnavailable", "LimitReached"]


def test_types_that_the_class_does_not_have():
    assert reasons(pod("a"), types=("gex44",)) == [
        ("NoCompatibleOffering", "KwokNodeClass/default has none of the server types of pool default: gex44", None)
    ]


def test_a_constraint_that_is_not_judged_names_its_field():
    raw = pod("a", resourceClaims=[{"name": "gpu", "resourceClaimName": "c"}])
    assert reasons(raw) == [
        ("NotJudged", "the planner does not judge spec.resourceClaims yet, and does not guess", None)
    ]


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 16000, "16"),
        ("cpu", 8110, "8110m"),
        ("memory", 4 * 2**30, "4Gi"),
        ("memory", 37500000000, "34.9Gi"),
        ("memory", 512, "512"),
        ("ephemeral-storage", 5 * 2**20, "5Mi"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("pods", 3, "3"),
    ],
)
def test_amounts_are_written_as_people_do(resource, amount, text):
    assert rounded_amount(resource, amount) == text


def batch_pool(**spec):
    """A pool with labels and a taint of its own, which takes no pods that do not select it."""
    taint = {"key": "workload", "value": "batch", "effect": "NoSchedule"}
    template = {"labels": {"workload": "batch"}, "taints": [taint]}
    return node_pool("batch", types=["cx42"], template=template, **spec)


def for_batch(*, tolerates=True):
    spec = {"nodeSelector": {"workload": "batch"}}
    tolerations = [{"key": "workload", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}]
    return pod("b", "1", **spec, **({"tolerations": tolerations} if tolerates else {}))


HINT = (
    "pool batch has such machines: add the nodeSelector growth.dev/pool: batch to the pod, "
    "or matchUnselectedPods: true to the pool's spec"
)


def told(raw, pools):
    (unplaced,) = plan(scene(raw, pools=pools).snapshot()).unplaced
    return [(reason.code, reason.message) for reason in unplaced.reasons]


def test_a_pod_that_selects_the_labels_of_another_pool_is_told_which_and_what_to_add():
    """Source: shared case 46, after Karpenter's issue 2320."""
    (reason,) = told(for_batch(), [node_pool(types=["cx22"]), batch_pool()])
    assert reason[0] == "NoCompatibleOffering"
    assert reason[1].endswith(f". But {HINT}")
    assert told(for_batch(), [node_pool("other", types=["cx22"]), batch_pool()])[0][1].endswith(f". P{HINT[1:]}")


def test_a_pod_that_is_too_large_is_told_of_a_pool_that_is_not():
    pools = [node_pool(types=["cx22"]), node_pool("large", types=["cx42"])]
    ((code, message),) = told(pod("a", "6", "8Gi"), pools)
    assert code == "TooLarge"
    assert ". But pool large has such machines: " in message


def test_a_pool_that_would_not_take_the_pod_is_not_named():
    ((_, message),) = told(for_batch(tolerates=False), [node_pool(types=["cx22"]), batch_pool()])
    assert "But pool" not in message


def test_too_large_names_the_daemon_sets_that_take_the_room():
    given = scene(pod("a", "1800m", "1Gi"), types=["cx22"])
    given.daemon_sets = [daemon_set("small", "100m", "10Mi"), daemon_set("logs", "300m", "10Mi")]
    (unplaced,) = plan(given.snapshot()).unplaced
    assert unplaced.reasons[0].message.endswith(
        ". DaemonSet pods take cpu 0.4 (kube-system/logs 0.3, kube-system/small 0.1) of cx22"
    )
