"""Server types that no class can ever offer: told wherever a pool's unknown types are told."""

from dataclasses import replace

from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.plan import plan
from planner.supply.type_faults import refusals, with_refusals
from tests.builders import kwok_node_class, node_pool, pod, server_type
from tests.planner.scenes import Scene, scene

GEX44 = "GEX44 is a dedicated server of Hetzner Robot (with a GPU): it is ordered by hand"


def refusal(name):
    return GEX44 if name == "gex44" else None


def planned(*types, pods=()):
    given = scene(*pods, types=types, kinds=[server_type("cx22")]).snapshot()
    (only,) = given.classes
    told = refusals(only.ref, only.offerings, given.pools, refusal)
    return plan(replace(given, classes=(replace(only, refusals=told),)))


def condition(made):
    (report,) = made.pools
    return next((c.status, c.reason, c.message) for c in report.status.conditions if c.type == "Ready")


def test_only_types_of_the_class_s_own_pools_that_it_lacks_are_asked_about():
    asked = []

    def ask(name):
        asked.append(name)
        return refusal(name)

    offered = Scene(classes=[kwok_node_class(server_type("cx22"))]).snapshot().classes[0].offerings
    own, other = node_pool(types=("CX22", "GEX44", "cx99")), node_pool("other", types=("ax42",))
    other["spec"]["template"] = {"classRef": {"kind": "HetznerNodeClass", "name": "default"}}
    pools = [NodePool.model_validate(each) for each in (own, other)]
    assert refusals(ClassRef(), offered, pools, ask) == {"gex44": GEX44}
    assert asked == ["cx99", "gex44"]


def test_a_pool_without_any_type_says_why():
    told = f"KwokNodeClass/default has none of these server types: gex44, cx99; {GEX44}"
    assert condition(planned("gex44", "cx99")) == ("False", "UnknownServerType", told)


def test_a_pool_with_other_types_says_why_too():
    told = f"KwokNodeClass/default does not have gex44; {GEX44}"
    assert condition(planned("gex44", "cx22")) == ("True", "UnknownServerType", told)


def test_an_event_on_the_pool_says_it():
    told = [
        e.message for e in planned("gex44", "cx22").events if (e.kind, e.reason) == ("NodePool", "UnknownServerType")
    ]
    assert told == [f"KwokNodeClass/default does not have gex44; {GEX44}"]


def test_a_pod_is_told_why_its_pool_has_no_machine():
    (unplaced,) = planned("gex44", pods=[pod("a")]).unplaced
    told = f"KwokNodeClass/default has none of the server types of pool default: gex44; {GEX44}"
    assert [(r.code, r.message) for r in unplaced.reasons] == [("NoCompatibleOffering", told)]


def test_a_type_that_nothing_is_known_against_is_told_as_before():
    assert condition(planned("cx99", "cx22")) == (
        "True",
        "UnknownServerType",
        "KwokNodeClass/default does not have cx99",
    )


def test_a_message_holds_few_sentences():
    assert with_refusals("does not have four", ["a", "b", "c", "d"]) == "does not have four; a; b; c"
