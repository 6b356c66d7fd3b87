"""Where a pod could go and where not: every node and offering, in groups of the same reason."""

from tests.builders import before, kwok_node_class, node, node_pool, pod, server_type
from tests.planner.scenes import Scene
from tests.worker.looking import sight
from worker.commands.shared.verdicts import FITS, VerdictGroup, verdicts


def judged(name, **parts):
    seen = sight(Scene(**{"pools": [node_pool()], "classes": [kwok_node_class()]} | parts))
    (found,) = [one for one in seen.snapshot.pods if one.name == name]
    return verdicts(found, seen.snapshot)


def test_nodes_by_reason_what_fits_first():
    taint = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    nodes = [
        node("a-full"),
        node("b-full"),
        node("c-free"),
        node("d-tainted", taints=taint),
    ]
    nodes[0]["status"]["allocatable"]["cpu"] = "1"
    nodes[1]["status"]["allocatable"]["cpu"] = "800m"
    found = judged("web", pods=[pod("web", "1500m"), pod("other", "100m", node="a-full")], nodes=nodes)
    assert found.nodes == (
        VerdictGroup(FITS, "", ("c-free",)),
        VerdictGroup("Insufficient cpu", "1.5 requested, 0.9 free", ("a-full", "b-full")),
        VerdictGroup("the node had untolerated taint gpu=yes:NoSchedule", "", ("d-tainted",)),
    )


def test_nodes_that_the_plan_does_not_count_on():
    nodes = [node("a-down"), node("b-going")]
    nodes[0]["status"]["conditions"][0]["status"] = "Unknown"
    nodes[1]["metadata"]["deletionTimestamp"] = before(minutes=1)
    found = judged("web", pods=[pod("web")], nodes=nodes)
    assert [(group.reason, group.members) for group in found.nodes] == [
        ("the node is being deleted", ("b-going",)),
        ("the node is not Ready", ("a-down",)),
    ]


def test_the_pod_itself_takes_no_room_where_it_is():
    found = judged("web", pods=[pod("web", "1500m", node="a")], nodes=[node("a")])
    assert [(group.reason, group.members) for group in found.nodes] == [(FITS, ("a",))]


def test_offerings_by_reason_the_cheapest_first():
    types = (server_type("cx22"), server_type("cx32"), server_type("cx42", sold_out=True), server_type("cax11"))
    pools = [
        node_pool(types=({"name": "cx22"}, {"name": "cx32", "max": 1}, {"name": "cx42"}, {"name": "cax11"})),
        node_pool("gpu", types=("cx22",)),
    ]
    wants = pod("web", "1", nodeSelector={"kubernetes.io/arch": "amd64"})
    found = judged("web", pods=[wants], pools=pools, nodes=[node("m-1", "cx32")], classes=[kwok_node_class(*types)])
    # Source of the price: KINDS of tests.planner.scenes.
    assert found.offerings[0] == VerdictGroup(FITS, "0.0066 EUR per hour", ("cx22 in fsn1 of default",))
    assert {group.reason: group.members for group in found.offerings[1:]} == {
        "cx42 in fsn1 is sold out, says the provider": ("cx42 in fsn1 of default",),
        "pool default has reached its limit of such machines": ("cx32 in fsn1 of default",),
        "pool gpu is not for it": ("cx22 in fsn1 of gpu",),
        "the node didn't match the pod's node affinity/selector": ("cax11 in fsn1 of default",),
    }


def test_a_limit_in_cores_is_named():
    pools = [node_pool(types=("cx22", "cx32"), limits={"max": 9, "cpu": 5})]
    found = judged("web", pods=[pod("web", "1")], pools=pools, nodes=[node("m-1")], classes=[kwok_node_class()])
    assert [(group.reason, group.members) for group in found.offerings] == [
        (FITS, ("cx22 in fsn1 of default",)),
        ("pool default is at its limit of 5 cpu: its machines have 2, and cx32 has 4", ("cx32 in fsn1 of default",)),
    ]


def test_what_nobody_judges_is_named_for_all_of_them():
    found = judged("web", pods=[pod("web", resourceClaims=[{"name": "gpu"}])], nodes=[node("a"), node("b")])
    reason = "the pod cannot be judged: spec.resourceClaims"
    assert found.nodes == (VerdictGroup(reason, "", ("a", "b")),)
    assert [group.reason for group in found.offerings] == [reason]


def test_a_claim_that_is_missing_keeps_the_pod_off_all_nodes():
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    found = judged("web", pods=[pod("web", volumes=[volume])], nodes=[node("a")])
    assert [(group.reason, group.members) for group in found.nodes] == [("claim default/data does not exist", ("a",))]


def test_lines_and_data_say_the_same():
    found = judged("web", pods=[pod("web", "60")])
    members = [f"{kind} in fsn1 of default" for kind in ("cx22", "cx32", "cx42")]
    assert list(found.lines()) == [
        "There is no node.",
        "3 offerings:",
        f"  3 x Insufficient cpu (cx22 in fsn1 of default: 60 requested, 2 free): {', '.join(members)}",
    ]
    assert found.document() == {
        "nodes": [],
        "offerings": [
            {
                "fits": False,
                "reason": "Insufficient cpu",
                "example": "60 requested, 2 free",
                "members": members,
            }
        ],
    }
