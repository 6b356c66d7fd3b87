import pytest

from planner.objects.kinds import Requirement
from tests.planner.scheduling.scenes import ZONE, fitting, pod, site, verdicts

IN_X = ((Requirement(ZONE, "In", ("x",)),),)
IN_X_OR_Y = (*IN_X, (Requirement(ZONE, "In", ("y",)),))


def test_each_volume_must_be_reached_by_one_of_its_terms():
    sites = [site(zone, zone=zone) for zone in "xyz"]
    assert fitting(pod(volume_terms=(IN_X_OR_Y,)), *sites) == {"x", "y"}
    assert fitting(pod(volume_terms=(IN_X_OR_Y, IN_X)), *sites) == {"x"}


@pytest.mark.parametrize(("limit", "fits"), [(1, False), (2, True), (3, True)])
def test_a_volume_that_is_attached_already_counts_once(limit, fits):
    there = (pod("p", attachments=(("csi", "one"),)), pod("q", attachments=(("csi", "one"),)))
    new = pod(attachments=(("csi", "one"), ("csi", "two")))
    assert bool(fitting(new, site("n", *there, attach_limits={"csi": limit}))) is fits


def test_a_full_node_takes_a_pod_that_brings_no_new_volume():
    there = pod("p", attachments=(("csi", "one"), ("csi", "two")))
    full = site("n", there, attach_limits={"csi": 1})
    assert fitting(pod(attachments=(("csi", "one"),)), full) == {"n"}
    assert fitting(pod(attachments=(("other", "three"),)), full) == {"n"}
    assert verdicts(pod(attachments=(("csi", "three"),)), full)["n"] == "the node exceeds max volume count: 1 of csi"


def test_a_driver_without_a_limit_attaches_any_number():
    new = pod(attachments=tuple(("csi", str(n)) for n in range(99)))
    assert fitting(new, site("n", attach_limits={"other": 1})) == {"n"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"is_gated": True}, "the pod is held back by scheduling gates"),
        ({"blocked_by": "claim default/c does not exist"}, "claim default/c does not exist"),
        ({"unjudged": ("spec.resourceClaims",)}, "the pod cannot be judged: spec.resourceClaims"),
    ],
)
def test_what_holds_a_pod_back_everywhere_comes_first(fields, said):
    assert verdicts(pod(requests={"cpu": 99_000}, **fields), site("n")) == {"n": said}
