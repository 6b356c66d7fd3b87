"""What keeps a pod from being evicted, row by row as Cluster Autoscaler's tests of drainable pods have it."""

from datetime import UTC, datetime, timedelta

import pytest

from activities.removals.drain_blockers import occupant
from planner.lifecycle.seen import Blocker
from tests.activities import bodies
from tests.tables import rows

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def pod(*, annotations=None, bare=False, gone_at=None, **spec):
    made = bodies.pod("web-1", **spec)
    made["metadata"]["annotations"] = annotations or {}
    if bare:
        del made["metadata"]["ownerReferences"]
    if gone_at is not None:
        made["metadata"]["deletionTimestamp"] = gone_at
    return made


def ends(seconds):
    return (NOW + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


EMPTY_DIR = {"name": "scratch", "emptyDir": {}}
IN_MEMORY = {"name": "shm", "emptyDir": {"medium": "Memory"}}
HOST_PATH = {"name": "sock", "hostPath": {"path": "/run/sock"}}
CLAIM = {"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}
CONFIG = {"name": "conf", "configMap": {"name": "conf"}}
OTHERS = "cluster-autoscaler.kubernetes.io/safe-to-evict"
OURS = "growth.dev/safe-to-evict"
MESH = [
    {"name": name, "emptyDir": {}} for name in ("workload-socket", "credential-socket", "workload-certs", "istio-data")
]
PROXY = [{"name": "web"}, {"name": "istio-proxy"}]
KEPT = {"growth.dev/do-not-remove": "rebuilds its index\nuntil noon"}


LATE = "should have ended at 2026-11-01 11:59:30 UTC"


@rows(
    ("given", "blocker", "why"),
    {
        "of a controller": (pod(), None, ""),
        "disk of a claim, memory": (pod(volumes=[CLAIM, CONFIG, IN_MEMORY]), None, ""),
        "annotated with nothing": (pod(annotations={"growth.dev/do-not-remove": ""}), None, ""),
        "annotated": (
            pod(annotations=KEPT, bare=True, volumes=[EMPTY_DIR]),
            Blocker.ANNOTATION,
            "is annotated growth.dev/do-not-remove: rebuilds its index until noon",
        ),
        "without controller": (
            pod(bare=True, volumes=[EMPTY_DIR]),
            Blocker.BARE_POD,
            "has no controller that would start it again",
        ),
        "emptyDir": (pod(volumes=[CONFIG, EMPTY_DIR]), Blocker.LOCAL_STORAGE, "has local storage: emptyDir scratch"),
        "hostPath": (
            pod(volumes=[HOST_PATH, EMPTY_DIR]),
            Blocker.LOCAL_STORAGE,
            "has local storage: hostPath sock, emptyDir scratch",
        ),
        "bare and full of data, safe to evict": (
            pod(annotations={OTHERS: "true"}, bare=True, volumes=[EMPTY_DIR, HOST_PATH]),
            None,
            "",
        ),
        "the same in our words": (pod(annotations={OURS: "true"}, bare=True, volumes=[EMPTY_DIR]), None, ""),
        "safe to evict, and kept by a person": (
            pod(annotations=KEPT | {OURS: "true"}),
            Blocker.ANNOTATION,
            "is annotated growth.dev/do-not-remove: rebuilds its index until noon",
        ),
        "not safe to evict": (pod(annotations={OTHERS: "false"}), Blocker.ANNOTATION, f"is annotated {OTHERS}: false"),
        "ends by itself": (
            pod(annotations={OTHERS: "on-completion"}),
            Blocker.ANNOTATION,
            f"is annotated {OTHERS}: on-completion",
        ),
        "our word goes first": (pod(annotations={OURS: "true", OTHERS: "false"}), None, ""),
        "a word that means nothing": (pod(annotations={OTHERS: "maybe"}, volumes=[IN_MEMORY]), None, ""),
        "a word that means nothing, bare": (
            pod(annotations={OTHERS: "maybe"}, bare=True),
            Blocker.BARE_POD,
            "has no controller that would start it again",
        ),
        "our word means nothing": (pod(annotations={OURS: "?", OTHERS: "true"}, bare=True), None, ""),
        "volumes that nobody misses": (
            pod(annotations={f"{OTHERS}-local-volumes": "scratch, sock"}, volumes=[EMPTY_DIR, HOST_PATH]),
            None,
            "",
        ),
        "one of two volumes": (
            pod(annotations={f"{OURS}-local-volumes": "scratch"}, volumes=[EMPTY_DIR, HOST_PATH]),
            Blocker.LOCAL_STORAGE,
            "has local storage: hostPath sock",
        ),
        "our volumes go first": (
            pod(
                annotations={f"{OURS}-local-volumes": "sock", f"{OTHERS}-local-volumes": "scratch"},
                volumes=[EMPTY_DIR, HOST_PATH],
            ),
            Blocker.LOCAL_STORAGE,
            "has local storage: emptyDir scratch",
        ),
        "a sidecar of Istio": (pod(containers=PROXY, volumes=MESH), None, ""),
        "a native sidecar of Istio": (
            pod(initContainers=[{"name": "istio-proxy", "restartPolicy": "Always"}], volumes=MESH),
            None,
            "",
        ),
        "a sidecar of Istio beside data": (
            pod(containers=PROXY, volumes=[*MESH, EMPTY_DIR]),
            Blocker.LOCAL_STORAGE,
            "has local storage: emptyDir scratch",
        ),
        "a volume of that name without the sidecar": (
            pod(volumes=MESH[:1]),
            Blocker.LOCAL_STORAGE,
            "has local storage: emptyDir workload-socket",
        ),
        "terminates": (pod(gone_at=ends(10), bare=True), None, ""),
        "terminates a little late": (pod(gone_at=ends(-29), annotations=KEPT), None, ""),
        "does not end": (pod(gone_at=ends(-30)), Blocker.TERMINATING, LATE),
    },
)
def test_what_blocks(given, blocker, why):
    seen = occupant(given, NOW, keeps_empty_dirs=True)
    assert (seen.blocker, seen.why) == (blocker, why)
    assert seen.key == "shop/web-1"
    assert seen.is_terminating is ("deletionTimestamp" in given["metadata"])


def test_an_owner_that_is_no_controller_would_not_start_it_again():
    given = pod()
    given["metadata"]["ownerReferences"][0]["controller"] = False
    assert occupant(given, NOW, keeps_empty_dirs=True).blocker is Blocker.BARE_POD


@pytest.mark.parametrize(
    ("spec", "critical"),
    [
        ({}, False),
        ({"priority": 1_000_000_000}, False),
        ({"priority": 2_000_000_000}, True),
        ({"priorityClassName": "system-node-critical"}, True),
        ({"priorityClassName": "system-cluster-critical"}, True),
        ({"priorityClassName": "very-important"}, False),
    ],
)
def test_what_the_cluster_needs_itself(spec, critical):
    """Source: Kubernetes docs, "Guaranteed scheduling for critical add-on pods"."""
    assert occupant(pod(**spec), NOW, keeps_empty_dirs=True).is_critical is critical


def test_long_words_of_people_are_cut():
    seen = occupant(pod(annotations={"growth.dev/do-not-remove": "x" * 300}), NOW, keeps_empty_dirs=True)
    assert seen.why == f"is annotated growth.dev/do-not-remove: {'x' * 57}..."
