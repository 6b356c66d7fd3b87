"""One judge: what keeps a pod is the same for the parsed pod of a plan and for the raw one of a drain."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.removals.drain_blockers import occupant
from planner.lifecycle.seen import Blocker
from planner.objects.eviction import keeps_node, misread, misread_of_node
from planner.objects.stays import StayReason, stay_at, stays
from planner.parsing.objects import UnreadableObject, parse_pod

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
KARPENTER = "karpenter.sh/do-not-disrupt"
AUTOSCALER = "cluster-autoscaler.kubernetes.io/safe-to-evict"
OURS = "growth.dev/safe-to-evict"
DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
OWNER = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def at(**ago):
    return (NOW - timedelta(**ago)).isoformat().replace("+00:00", "Z")


VOLUMES = st.sampled_from(
    [
        {"name": "cache", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "sock", "hostPath": {"path": "/run/sock"}},
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "istio-data", "emptyDir": {}},
    ]
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "growth.dev/do-not-remove": st.sampled_from(["", "mine", "x" * 80]),
        OURS: st.sampled_from(["", "true", "false", "?"]),
        AUTOSCALER: st.sampled_from(["true", "false", "on-completion", "no"]),
        KARPENTER: st.sampled_from(["true", "false", "30m", "2h", "0", "soon", "-1h", "1h30m"]),
        f"{OURS}-local-volumes": st.sampled_from(["cache", "sock, cache"]),
    },
)
STATUS = st.fixed_dictionaries(
    {}, optional={"startTime": st.sampled_from([at(minutes=10), at(hours=1), at(hours=3), at(hours=-1)])}
)
BROKEN = st.sampled_from([{}, {"containers": [{"name": "main", "resources": {"requests": {"cpu": "much"}}}]}])


@st.composite
def pods(draw):
    metadata = {"name": "web-1", "namespace": "shop", "uid": "u-1", "annotations": draw(ANNOTATIONS)}
    owners = draw(st.sampled_from([None, [OWNER], [{**OWNER, "controller": False}], []]))
    if owners is not None:
        metadata["ownerReferences"] = owners
    if draw(st.booleans()):
        metadata["deletionTimestamp"] = draw(st.sampled_from([at(seconds=10), at(seconds=30), at(hours=-1)]))
    spec = {"nodeName": "n", "containers": [{"name": draw(st.sampled_from(["main", "istio-proxy"]))}]}
    spec["volumes"] = draw(st.lists(VOLUMES, unique_by=lambda volume: volume["name"]))
    return {"metadata": metadata, "spec": spec | draw(BROKEN), "status": draw(STATUS)}


def parsed(pod):
    """The pod as the planner has it, also where it cannot be read."""
    try:
        return parse_pod(pod)
    except UnreadableObject as error:
        return error.remains


@given(pods(), st.booleans())
def test_plan_and_drain_give_the_same_answer(pod, keeps):
    planned = stay_at(parsed(pod).stays, NOW, keeps_empty_dirs=keeps)
    drained = occupant(pod, NOW, keeps_empty_dirs=keeps)
    assert drained.blocker == (None if planned is None else Blocker(planned.reason))
    assert drained.why == ("" if planned is None else planned.why)


def test_a_pod_that_asks_for_too_much_is_judged_by_all_of_its_spec():
    volumes = [{"name": f"v{i}", "configMap": {"name": "c"}} for i in range(20_000)]
    pod = {
        "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": [OWNER]},
        "spec": {"nodeName": "n", "volumes": [*volumes, {"name": "sock", "hostPath": {"path": "/run/sock"}}]},
    }
    assert [stay.why for stay in parsed(pod).stays] == ["has local storage: hostPath sock"]


def test_reasons_have_the_words_of_a_drain():
    assert [reason.value for reason in StayReason] == [blocker.value for blocker in Blocker]


def judged(annotations, now=NOW, status=None, owners=(OWNER,), volumes=()):
    metadata = {"annotations": annotations, "ownerReferences": list(owners)}
    all_stays = stays(metadata, {"volumes": list(volumes)}, status or {})
    stay = stay_at(all_stays, now, keeps_empty_dirs=True)
    return None if stay is None else (stay.reason, stay.why, stay.until)


STARTED = {"startTime": at(minutes=10)}


@pytest.mark.parametrize(
    ("annotations", "status", "now", "why", "until"),
    [
        ({KARPENTER: "true"}, STARTED, NOW, f"is annotated {KARPENTER}: true", None),
        ({KARPENTER: "True"}, STARTED, NOW, f"is annotated {KARPENTER}: True", None),
        (
            {KARPENTER: "30m"},
            STARTED,
            NOW,
            f"is annotated {KARPENTER}: 30m, until 2026-11-01T12:20:00Z",
            NOW + timedelta(minutes=20),
        ),
        ({KARPENTER: "30m"}, STARTED, NOW + timedelta(minutes=20), None, None),
        # Not started: its time is to come.
        ({KARPENTER: "30m"}, {}, NOW, f"is annotated {KARPENTER}: 30m, from its start, which is to come", None),
        ({KARPENTER: "30m"}, {"startTime": "never"}, NOW, f"is annotated {KARPENTER}: 30m, from its start,", None),
        ({KARPENTER: "87600h"}, {"startTime": "9999-01-01T00:00:00Z"}, NOW, f"is annotated {KARPENTER}: 87600h", None),
        ({KARPENTER: "false"}, STARTED, NOW, None, None),
        ({KARPENTER: "0s"}, STARTED, NOW, None, None),
        ({KARPENTER: "soon"}, STARTED, NOW, None, None),
        # Cluster Autoscaler's word does not undo Karpenter's, Growth's own does.
        ({KARPENTER: "true", AUTOSCALER: "true"}, STARTED, NOW, f"is annotated {KARPENTER}: true", None),
        ({KARPENTER: "true", OURS: "true"}, STARTED, NOW, None, None),
    ],
)
def test_a_pod_that_karpenter_must_not_disrupt(annotations, status, now, why, until):
    """Source: Karpenter docs, "Well-Known Annotations"; kubernetes-sigs/karpenter#2874."""
    told = judged(annotations, now, status)
    if why is None:
        assert told is None
    else:
        assert (told[0], told[2]) == (StayReason.ANNOTATION, until)
        assert told[1].startswith(why)


def test_after_its_time_a_pod_is_judged_as_if_it_had_said_nothing():
    later = NOW + timedelta(hours=1)
    assert judged({KARPENTER: "30m"}, later, STARTED, owners=())[0] is StayReason.BARE_POD
    assert judged({KARPENTER: "30m", AUTOSCALER: "true"}, later, STARTED, owners=()) is None


@pytest.mark.parametrize(
    ("annotations", "told"),
    [
        ({KARPENTER: "true"}, ""),
        ({KARPENTER: "false"}, ""),
        ({KARPENTER: "2h30m"}, ""),
        ({KARPENTER: ""}, ""),
        ({KARPENTER: "30"}, f"{KARPENTER}=30 has no effect: say true, false, or a time from its start such as 30m"),
        (
            {KARPENTER: "-1h", OURS: "yes"},
            (
                f"{OURS}=yes has no effect: say true, false, on-completion; "
                f"{KARPENTER}=-1h has no effect: say true, false, or a time from its start such as 30m"
            ),
        ),
    ],
)
def test_words_that_mean_nothing_on_a_pod(annotations, told):
    assert misread(annotations) == told


@pytest.mark.parametrize(
    ("annotations", "kept_by", "told"),
    [
        ({}, "", ""),
        ({DISABLED: "true"}, DISABLED, ""),
        ({KARPENTER: "true"}, KARPENTER, ""),
        ({DISABLED: "false", KARPENTER: "false"}, "", ""),
        # A duration says something on a pod alone: a Node has no start that all agree on.
        ({KARPENTER: "30m"}, "", f"{KARPENTER}=30m has no effect: say true, false"),
        ({DISABLED: "yes"}, "", f"{DISABLED}=yes has no effect: say true, false"),
    ],
)
def test_words_on_a_node(annotations, kept_by, told):
    assert (keeps_node(annotations), misread_of_node(annotations)) == (kept_by, told)


@pytest.mark.parametrize("metadata", [{"ownerReferences": 1}, {"annotations": [], "ownerReferences": {"a": 1}}])
@pytest.mark.parametrize("spec", [{"volumes": 1}, {"volumes": ["x", None]}, {}])
def test_a_broken_pod_is_judged_all_the_same(metadata, spec):
    assert [stay.reason for stay in stays(metadata, spec, {})] == [StayReason.BARE_POD]
