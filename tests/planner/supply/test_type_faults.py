"""What of a pool comes to nothing in its class: one condition, and the rest of the pool goes on."""

from api.v1alpha1.node_pool import NodePool
from planner.plan import plan
from planner.supply.machine_kind import kinds_of_pools
from planner.supply.type_faults import refusals
from tests.builders import node_pool, pod, server_type
from tests.planner.scenes import scene
from tests.tables import rows

REF = "KwokNodeClass/default"
MANY_CORES = {"requirements": [{"key": "cores", "operator": "Gte", "values": ["99"]}]}
KINDS = [server_type("cx22", locations=["fsn1", "nbg1"]), server_type("cx32"), server_type("cax11")]


def ready(*types, pods=(), **spec):
    made = plan(scene(*pods, types=types, kinds=KINDS, **spec).snapshot())
    (report,) = made.pools
    return next((c.status, c.reason, c.message) for c in report.status.conditions if c.type == "Ready")


@rows(
    ("types", "spec", "told"),
    {
        "a pattern": (
            ["cx22", "cx32", {"pattern": "cx9*"}],
            {},
            ("True", "UnknownServerType", f'serverTypes[2]: pattern "cx9*" matches no server type of {REF}'),
        ),
        "requirements": (
            [MANY_CORES, "cx22"],
            {},
            ("True", "UnknownServerType", f"serverTypes[0]: requirements cores Gte 99 match no server type of {REF}"),
        ),
        "only such": (
            [{"pattern": "cx9*"}],
            {},
            ("False", "UnknownServerType", f'serverTypes[0]: pattern "cx9*" matches no server type of {REF}'),
        ),
        "a name beside it": (
            ["cx22", "cx99", {"pattern": "x*"}],
            {},
            (
                "True",
                "UnknownServerType",
                f'{REF} does not have cx99; serverTypes[2]: pattern "x*" matches no server type of {REF}',
            ),
        ),
        "a location of the pool": (
            ["cx22"],
            {"locations": ["fsn1", "mars", "venus"]},
            ("True", "UnknownLocation", f"locations: {REF} has no server type in mars, venus"),
        ),
        "a location of an entry with a name": (
            [{"name": "cx32", "locations": ["fsn1", "nbg1"]}],
            {},
            ("True", "UnknownLocation", "serverTypes[0].locations: cx32 is not in nbg1"),
        ),
        "a location of another entry": (
            ["cx32", {"pattern": "cx*", "locations": ["nbg1", "mars"]}],
            {},
            ("True", "UnknownLocation", 'serverTypes[1].locations: no server type of pattern "cx*" is in mars'),
        ),
        "locations that have nothing in common": (
            ["cx22", {"name": "cx32", "locations": ["fsn1"]}],
            {"locations": ["nbg1"]},
            ("True", "EntryWithoutTypes", "serverTypes[1]: nothing of cx32 is in a location that the pool allows"),
        ),
        "a name after a pattern": (
            [{"pattern": "cx*"}, "cx22"],
            {},
            ("True", "EntryWithoutTypes", "serverTypes[1]: serverTypes[0] matches cx22 first"),
        ),
        "a minimum after a pattern": (
            [{"pattern": "cx*"}, {"name": "cx22", "min": 1}],
            {},
            ("True", "EntryWithoutTypes", "serverTypes[1]: serverTypes[0] matches cx22 first, so only its min holds"),
        ),
        "a pattern after a pattern": (
            [{"pattern": "c*"}, {"pattern": "cx*"}],
            {},
            (
                "True",
                "EntryWithoutTypes",
                'serverTypes[1]: earlier entries match each server type of pattern "cx*" first',
            ),
        ),
        "nothing": (["cx22", {"pattern": "cax*"}, {"pattern": "*"}], {"locations": ["fsn1"]}, ("True", "Usable", "")),
    },
)
def test_it_is_one_condition_that_names_the_entry(types, spec, told):
    assert ready(*types, **spec) == told


def test_of_many_the_first_are_told():
    status, reason, message = ready("cx22", *({"pattern": f"x{n}*"} for n in range(9)))
    assert (status, reason) == ("True", "UnknownServerType")
    assert message.count("matches no server type") == 3
    assert message.endswith("; 6 more of this kind")


def test_the_other_entries_go_on():
    given = scene(pod("a"), types=[{"pattern": "cx9*"}, {"name": "cx22", "locations": ["mars", "nbg1"]}], kinds=KINDS)
    assert [(r.server_type, r.location) for r in plan(given.snapshot()).requests] == [("cx22", "nbg1")]


def test_a_pod_is_told_why_its_pool_has_no_machine():
    (unplaced,) = plan(scene(pod("a"), types=[{"pattern": "cx9*"}], kinds=KINDS).snapshot()).unplaced
    told = (
        f"{REF} has none of the server types of pool default; "
        f'serverTypes[0]: pattern "cx9*" matches no server type of {REF}'
    )
    assert [(r.code, r.message) for r in unplaced.reasons] == [("NoCompatibleOffering", told)]


def test_an_event_on_the_pool_tells_it():
    made = plan(scene(types=["cx22", {"pattern": "cx9*"}], kinds=KINDS).snapshot())
    assert [e.message for e in made.events if e.reason == "UnknownServerType"] == [
        f'serverTypes[1]: pattern "cx9*" matches no server type of {REF}'
    ]


def test_a_class_that_cannot_be_read_says_only_that():
    given = scene(types=[{"pattern": "cx*"}], locations=["mars"])
    given.classes = []
    assert kinds_of_pools(given.snapshot())["default"].faults == ()
    assert plan(given.snapshot()).pools[0].status.conditions[0].reason == "ClassNotFound"


def test_only_names_are_asked_about():
    pool = NodePool.model_validate(node_pool(types=["gex44", {"pattern": "gex*"}, MANY_CORES]))
    (only,) = scene(kinds=KINDS).snapshot().classes
    assert refusals(only.ref, only.offerings, [pool], str.upper) == {"gex44": "GEX44"}
