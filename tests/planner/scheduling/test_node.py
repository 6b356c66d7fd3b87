import pytest

from planner.objects.kinds import Requirement, Taint, Toleration
from planner.objects.predicates import FIELD_NAME
from tests.planner.scheduling.scenes import ZONE, fitting, pod, site, verdicts


def test_a_pod_that_names_its_node_fits_there_alone():
    assert fitting(pod(node_name="b"), site("a"), site("b")) == {"b"}


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (None, False),
        (Toleration("node.kubernetes.io/unschedulable", "Exists"), True),
        (Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule"), True),
        (Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoExecute"), False),
        (Toleration("", "Exists"), True),
    ],
)
def test_a_cordoned_node_takes_those_that_tolerate_it(toleration, fits):
    one = pod(tolerations=(toleration,) if toleration else ())
    assert bool(fitting(one, site(is_cordoned=True))) is fits


@pytest.mark.parametrize(("effect", "fits"), [("NoSchedule", False), ("NoExecute", False), ("PreferNoSchedule", True)])
def test_a_taint_keeps_out_unless_it_is_a_preference(effect, fits):
    assert bool(fitting(pod(), site(taints=(Taint("gpu", "yes", effect),)))) is fits


def test_the_taint_is_named():
    said = verdicts(pod(), site("n", taints=(Taint("gpu", "yes", "NoSchedule"),)))["n"]
    assert said == "the node had untolerated taint gpu=yes:NoSchedule"


def test_match_fields_ask_for_the_name_of_the_node_beside_its_labels():
    wanted = (Requirement(FIELD_NAME, "In", ("b",)), Requirement(ZONE, "In", ("x",)))
    assert fitting(pod(node_affinity=(wanted,)), site("a", zone="x"), site("b", zone="x")) == {"b"}
    assert fitting(pod(node_affinity=(wanted,)), site("b", zone="y")) == set()


def test_one_of_several_terms_is_enough_and_the_selector_must_hold_too():
    terms = ((Requirement("disk", "Exists"),), (Requirement(ZONE, "In", ("x",)),))
    one = pod(node_affinity=terms, node_selector=(Requirement("os", "In", ("linux",)),))
    sites = (
        site("both", zone="x", labels={"os": "linux"}),
        site("no-os", zone="x"),
        site("disk", labels={"disk": "", "os": "linux"}),
        site("neither", zone="y", labels={"os": "linux"}),
    )
    assert fitting(one, *sites) == {"both", "disk"}


@pytest.mark.parametrize(
    ("size", "fits"), [("9223372036854775807", True), ("9223372036854775808", False), ("010", True)]
)
def test_a_label_beyond_64_bits_is_no_number(size, fits):
    # Source: apimachinery, labels.Requirement.Matches: strconv.ParseInt(value, 10, 64).
    one = pod(node_affinity=((Requirement("size", "Gt", ("5",)),),))
    assert bool(fitting(one, site(labels={"size": size}))) is fits
