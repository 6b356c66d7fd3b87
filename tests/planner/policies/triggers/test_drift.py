"""Machines that are not what class and pool ask for now go; an upgrade of Growth replaces none.

Source: Karpenter docs, "Disruption: Drift"; kubernetes-sigs/karpenter, designs/drift-hash-versioning.md, and issues on
machines that drifted with an upgrade.
"""

import pytest

from api.keys import ANNOTATION_TEMPLATE_HASH
from planner.plan import plan
from planner.policies.triggers.drift import MOST_ADOPTED
from tests.builders import before, kwok_node_class, node_pool, node_removal_request, node_request, pod, server_type
from tests.planner.policies.triggers.fleet import DRAIN, aged, condition, leaving, with_pods
from tests.planner.scenes import scene
from tests.tables import rows

CHANGED = {"template": {"labels": {"team": "b"}}}
TYPES = ("cx22", "cx32", "cx42")


def hashes(given):
    return dict(plan(given.snapshot()).template_hashes)


def adopted(given):
    """Return the scene after the round's hashes have been written."""
    for name, value in hashes(given).items():
        (node,) = (each for each in given.nodes if each["metadata"]["name"] == name)
        node["metadata"]["annotations"][ANNOTATION_TEMPLATE_HASH] = value
    return given


def edited(given, **spec):
    """Return the scene after an edit of its pool."""
    given.pools[0]["spec"] |= spec
    return given


def bought(name="n", server_type="cx22", **changes):
    """A Node that bears the hash of the pool as it is before it is edited."""
    return adopted(with_pods(aged(name, server_type, **changes)))


def test_an_edited_template_replaces_its_machine():
    given = edited(bought(), **CHANGED)
    made = plan(given.snapshot())
    (removal,) = made.removals
    assert (removal.node, removal.reason, removal.replacement) == ("n", "Drift", (0,))
    assert removal.why == "Its class or the pool's template has changed since it was bought"
    assert made.template_hashes == {}
    reported = condition(given, "Drifted")
    assert (reported.status, reported.reason) == ("True", "Replaced")
    assert reported.message == "Machines that are not what class and pool ask for now: 1 (n)"
    (report,) = made.pools
    assert report.due == {"Drift": 1}


def test_an_edited_class_replaces_the_machines_of_its_type_alone():
    given = adopted(with_pods(aged("a"), aged("b", "cx32")))
    given.classes = [
        kwok_node_class(
            *(server_type(name, **({"labels": {"disk": "ssd"}} if name == "cx22" else {})) for name in TYPES)
        )
    ]
    assert leaving(given) == [("a", "Drift")]


@rows(
    "change",
    {
        "a price": {"pricePerHour": "9"},
        "a location": {"locations": ("fsn1", "nbg1")},
        "what is in stock": {"sold_out": True},
        "how long it takes to start": {"startup": {"readyAfter": "9s"}},
    },
)
def test_what_is_no_part_of_a_machine_is_no_drift(change):
    given = bought()
    given.classes = [kwok_node_class(*(server_type(name, **change) for name in TYPES))]
    given.classes[0]["status"] = {"unavailable": [], "conditions": []}
    made = plan(given.snapshot())
    assert [removal for removal in made.removals if removal.reason == "Drift"] == []
    assert made.template_hashes == {}


def test_an_upgrade_replaces_none_of_a_hundred_machines():
    given = with_pods(*(aged(f"n{number}") for number in range(100)), **CHANGED)
    assert leaving(given) == []
    assert len(hashes(given)) == 100
    assert len(set(hashes(adopted(given)).values())) == 0
    assert leaving(given) == []
    assert condition(given, "Drifted") is None


@rows(
    "written",
    {
        "none": None,
        "of another version": "v2:0123456789abcdef",
        "of no version": "0123456789abcdef",
        "garbled": "v1:yes",
        "empty": "",
        "long": "v1:" + "0" * 5000,
    },
)
def test_a_node_of_which_nothing_can_be_said_takes_todays(written):
    given = with_pods(aged("n", annotations={} if written is None else {ANNOTATION_TEMPLATE_HASH: written}))
    made = plan(given.snapshot())
    assert made.removals == ()
    assert made.template_hashes["n"].startswith("v1:")
    assert leaving(adopted(given)) == []
    assert hashes(given) == {}


def test_a_person_who_takes_the_annotation_off_keeps_the_machine():
    given = edited(bought(), **CHANGED)
    del given.nodes[0]["metadata"]["annotations"][ANNOTATION_TEMPLATE_HASH]
    assert leaving(adopted(given)) == []


def test_the_hash_of_a_request_goes_before_todays():
    of_then = hashes(with_pods(aged("n")))["n"]
    given = with_pods(aged("n"), **CHANGED)
    given.requests = [
        node_request("n", phase="Ready", readyAt=before(minutes=9), releasedAt=before(minutes=8), templateHash=of_then)
    ]
    assert hashes(given) == {"n": of_then}
    assert leaving(adopted(given)) == [("n", "Drift")]


def test_a_type_that_is_no_longer_listed_drifts():
    given = bought("n", "cx32")
    given.pools[0] = node_pool(types=["cx22"], **DRAIN)
    made = plan(given.snapshot())
    (removal,) = made.removals
    assert (removal.node, removal.why) == ("n", "Its type cx32 is no longer among the pool's serverTypes")


MORE_CORES = {"requirements": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}
CHEAPER = {"requirements": [{"key": "price", "operator": "Lt", "values": ["0.001"]}]}


@rows(
    ("types", "spec", "why"),
    {
        "a pattern for it": ([{"pattern": "cx3?"}], {}, ""),
        "a pattern for others": ([{"pattern": "cx4?"}], {}, "Its type cx32 is no longer among the pool's serverTypes"),
        "requirements that it misses": (
            ["cx22", MORE_CORES],
            {},
            "Its type cx32 is no longer among the pool's serverTypes",
        ),
        "a price that it misses": ([CHEAPER], {}, ""),
        "a location of the pool": (["cx32"], {"locations": ["nbg1", "fsn1"]}, ""),
        "other locations of the pool": (
            ["cx32"],
            {"locations": ["nbg1"]},
            "Its location fsn1 is no longer among those that the pool has for cx32",
        ),
        "other locations of its entry": (
            [{"pattern": "cx*", "locations": ["nbg1"]}, "cx32"],
            {},
            "Its location fsn1 is no longer among those that the pool has for cx32",
        ),
        "annotations of the template": (["cx32"], {"template": {"annotations": {"team": "b"}}}, ""),
    },
)
def test_a_machine_that_the_pool_would_not_buy_any_more_drifts(types, spec, why):
    given = bought("n", "cx32")
    given.classes = [kwok_node_class(*(server_type(name, locations=["fsn1", "nbg1"]) for name in TYPES))]
    given.pools[0] = node_pool(types=types, **DRAIN, **spec)
    assert [removal.why for removal in plan(given.snapshot()).removals] == ([why] if why else [])


def test_a_type_that_its_class_has_no_more_is_not_judged_by_requirements():
    given = bought("n", "cx32")
    given.classes = [kwok_node_class(server_type("cx22"))]
    given.pools[0] = node_pool(types=[MORE_CORES, "cx22"], **DRAIN)
    assert leaving(given) == []
    given.pools[0] = node_pool(types=[{"pattern": "cx4?"}, "cx22"], **DRAIN)
    assert leaving(given) == [("n", "Drift")]


def test_a_type_that_was_not_listed_before_drift_was_judged_does_not():
    given = with_pods(aged("n", "cx32"))
    given.pools[0] = node_pool(types=["cx22"], **DRAIN)
    assert leaving(adopted(given)) == []
    assert leaving(given) == []
    # Once it is listed again it is like any other.
    given.pools[0] = node_pool(types=["cx22", "cx32"], **DRAIN)
    assert len(hashes(given)) == 1
    assert leaving(adopted(given)) == []
    given.pools[0] = node_pool(types=["cx22"], **DRAIN)
    assert leaving(given) == [("n", "Drift")]


def test_a_type_in_capitals_is_the_same():
    given = bought("n", "cx32")
    given.pools[0] = node_pool(types=["CX32"], **DRAIN)
    assert leaving(given) == []


def test_another_class_of_the_pool_is_drift_though_it_is_alike():
    given = bought()
    given.classes.append(kwok_node_class(name="other"))
    assert leaving(edited(given, template={"classRef": {"kind": "KwokNodeClass", "name": "other"}})) == [("n", "Drift")]


def test_a_class_that_is_gone_says_nothing():
    given = bought()
    given.classes = []
    made = plan(given.snapshot())
    assert (made.removals, made.template_hashes) == ((), {})
    unknown = with_pods(aged("n"), template={"classRef": {"kind": "KwokNodeClass", "name": "none"}})
    assert hashes(unknown) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {"growth.dev/do-not-remove": "mine"}},
        {"labels": {"growth.dev/request": "another"}},
        {"pool": None},
        {"deleting": True},
        {"ready": False},
    ],
    ids=["kept by a person", "another's request", "foreign", "being deleted", "not Ready"],
)
def test_which_drifted_machines_stay(change):
    of_then = hashes(with_pods(aged("n")))["n"]
    change = change | {"annotations": {ANNOTATION_TEMPLATE_HASH: of_then} | change.get("annotations", {})}
    assert leaving(with_pods(aged("n", **change), **CHANGED)) == []


def test_a_foreign_node_is_given_no_hash():
    assert hashes(scene(aged("n", pool=None), aged("m", labels={"growth.dev/request": "another"}))) == {}


def test_one_under_removal_is_not_proposed_again_and_not_written_on():
    given = edited(bought(), **CHANGED)
    given.removals = [node_removal_request("n", spec={"reason": "Drift"})]
    made = plan(given.snapshot())
    assert (made.removals, made.requests, made.template_hashes) == ((), (), {})


@pytest.mark.parametrize(("mode", "reason"), [("empty", "WaitsForPodsToLeave"), ("none", "ModeNone")])
def test_where_pods_are_not_asked_to_leave_it_is_reported_alone(mode, reason):
    given = edited(bought(), scaleDown={"mode": mode}, **CHANGED)
    assert leaving(given) == []
    assert condition(given, "Drifted").reason == reason


def test_an_empty_one_that_a_minimum_keeps_is_replaced_in_every_mode_but_none():
    idle = {"growth.dev/idle-since": before(minutes=11)}
    given = edited(adopted(scene(aged("n", annotations=idle), limits={"min": 1})), **CHANGED)
    made = plan(given.snapshot())
    assert [(removal.node, removal.reason, removal.replacement) for removal in made.removals] == [("n", "Drift", (0,))]
    assert leaving(edited(given, scaleDown={"mode": "none"})) == []


def test_so_many_take_a_hash_in_one_round():
    given = scene(*(aged(f"n{number}") for number in range(MOST_ADOPTED + 1)))
    assert len(hashes(given)) == MOST_ADOPTED
    assert len(hashes(adopted(given))) == 1


def test_pods_do_not_move_onto_machines_that_have_drifted_too():
    given = edited(adopted(with_pods(aged("a", "cx32"), aged("b", "cx32"))), **CHANGED)
    made = plan(given.snapshot())
    assert [removal.moves for removal in made.removals] == [(), ()]
    # Both together fit on one.
    assert len(made.requests) == 1
    assert [removal.replacement for removal in made.removals] == [(0,), (0,)]


def test_a_waiting_pod_that_no_machine_can_take_stops_no_renewal():
    given = edited(bought(), **CHANGED)
    given.pods.append(pod("huge", "900"))
    made = plan(given.snapshot())
    assert [each.pod for each in made.unplaced] == ["default/huge"]
    assert [removal.node for removal in made.removals] == ["n"]
