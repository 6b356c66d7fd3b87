"""What a pool may buy: the first entry that matches a type holds, and locations only restrict it."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from api.v1alpha1.node_pool import NodePool
from planner.objects.offering import Offering
from planner.supply.allowed_types import AllowedTypes, allowed_types, types_of
from planner.supply.limits import limits_left
from planner.supply.machine_kind import kinds_of_pools
from planner.supply.machines import machines_of
from planner.supply.type_facts import TypeInLocation, facts_of
from tests.builders import KINDS, kwok_node_class, node, node_pool, server_type
from tests.planner.scenes import scene
from tests.tables import rows

GIB = 2**30
CX22, CX32, CCX13 = "cx22", "cx32", "ccx13"


def facts(name, cores, memory, price, *, arch="amd64", dedicated=False, places=("fsn1", "hel1"), **dearer):
    """A type of a class; `dearer` are locations with a price of their own."""
    one = TypeInLocation(name, "", arch, cores, memory * GIB, dedicated, Decimal(price))
    return [replace(one, location=place, price=Decimal(dearer.get(place, price))) for place in (*places, *dearer)]


CLASS = (
    *facts(CX22, 2, 4, "0.006"),
    *facts(CX32, 4, 8, "0.010", sin="0.030"),
    *facts("cax11", 2, 4, "0.005", arch="arm64"),
    *facts(CCX13, 2, 8, "0.020", dedicated=True),
    # A provider that tells no more than it must.
    *(TypeInLocation("plain", place, price=Decimal("0.001")) for place in ("fsn1", "hel1")),
)


def allowed(*entries, known=CLASS, **spec) -> AllowedTypes:
    raw = node_pool(types=entries, **spec)
    return allowed_types(NodePool.model_validate(raw), types_of(known))


def needs(*requirements):
    return {"requirements": [{"key": k, "operator": o, "values": list(v)} for k, o, *v in requirements]}


def bought(found: AllowedTypes):
    """Return the types that may be bought, each with the locations where not all are allowed."""
    return {
        (each.server_type if each.location == "fsn1" else f"{each.server_type} in {each.location}")
        for each in CLASS
        if found.allows(each) and each.location != "hel1"
    }


@rows(
    ("entry", "types"),
    {
        "a name": ("CX22", {CX22}),
        "a name is no pattern": ("cx", set()),
        "any text": ({"pattern": "cx*"}, {CX22, CX32, "cx32 in sin"}),
        "one character": ({"pattern": "c?x*"}, {CCX13, "cax11"}),
        "in upper case": ({"pattern": "CX2?"}, {CX22}),
        "all": ({"pattern": "*"}, {CX22, CX32, "cx32 in sin", "cax11", CCX13, "plain"}),
        "a pattern is of the whole name": ({"pattern": "x"}, set()),
        "a dot is a dot": ({"pattern": "cx.2"}, set()),
        "an architecture": (needs(("architecture", "In", "arm64")), {"cax11"}),
        "not an architecture": (
            needs(("architecture", "NotIn", "arm64")),
            {CX22, CX32, "cx32 in sin", CCX13},
        ),
        "either": (
            needs(("architecture", "In", "arm64", "amd64"), ("cores", "In", "2", "8")),
            {CX22, "cax11", CCX13},
        ),
        "above, and it is equal": (needs(("cores", "Gt", "4")), set()),
        "at least, and it is equal": (needs(("cores", "Gte", "4")), {CX32, "cx32 in sin"}),
        "below, and it is equal": (needs(("cores", "Lt", "2")), set()),
        "at most, and it is equal": (needs(("cores", "Lte", "2")), {CX22, "cax11", CCX13}),
        "memory": (needs(("memory", "Gt", "4Gi")), {CX32, "cx32 in sin", CCX13}),
        "memory, and it is equal": (needs(("memory", "Gte", "8Gi")), {CX32, "cx32 in sin", CCX13}),
        "memory in another unit": (needs(("memory", "In", "4096Mi")), {CX22, "cax11"}),
        "decimal memory is less": (needs(("memory", "Gt", "8G")), {CX32, "cx32 in sin", CCX13}),
        "a part of a unit": (needs(("memory", "Lte", "4.5Gi")), {CX22, "cax11"}),
        "dedicated": (needs(("dedicated", "In", "true")), {CCX13}),
        "shared": (needs(("dedicated", "NotIn", "true")), {CX22, CX32, "cx32 in sin", "cax11"}),
        "a price": (needs(("price", "Lt", "0.006")), {"cax11", "plain"}),
        "a price, and it is equal": (needs(("price", "Lte", "0.0060")), {CX22, "cax11", "plain"}),
        "a price holds where it is asked": (needs(("price", "Lte", "0.010"), ("cores", "Gt", "2")), {CX32}),
        "a dear one": (needs(("price", "Gte", "0.020")), {CCX13, "cx32 in sin"}),
        "all of it": (needs(("memory", "Gte", "8Gi"), ("dedicated", "In", "false"), ("price", "Lt", "0.02")), {CX32}),
        "what nobody meets": (needs(("cores", "Gt", "96")), set()),
    },
)
def test_an_entry_allows_what_it_matches(entry, types):
    assert bought(allowed(entry)) == types


def test_what_is_not_known_meets_no_requirement():
    for key, value in {"architecture": "amd64", "cores": "1", "memory": "1Gi", "dedicated": "true"}.items():
        for operator in ("In", "NotIn"):
            assert "plain" not in bought(allowed(needs((key, operator, value))))


@rows(
    ("entries", "position"),
    {
        "a name before a pattern": (["cx22", {"pattern": "cx*"}], 0),
        "a pattern before a name": ([{"pattern": "cx*"}, "cx22"], 0),
        "a pattern of others": ([{"pattern": "cax*"}, "cx32", {"pattern": "*"}, "cx22"], 2),
        "requirements that it meets": ([needs(("cores", "Lte", "2")), "cx22"], 0),
        "requirements that it misses": ([needs(("cores", "Gt", "2")), {"pattern": "*"}], 1),
        "locations do not pass it on": ([{"pattern": "cx*", "locations": ["sin"]}, "cx22"], 0),
        "none": (["cx32", {"pattern": "ccx*"}], None),
    },
)
def test_the_first_entry_that_matches_a_type_holds(entries, position):
    assert allowed(*entries).holder("CX22") == position


def test_what_an_entry_leaves_out_by_locations_no_later_one_buys():
    found = allowed({"name": "cx32", "locations": ["sin"]}, {"pattern": "cx*"})
    assert bought(found) == {"cx32 in sin", CX22}


def test_what_costs_too_much_in_one_location_no_later_entry_buys_there():
    found = allowed(needs(("price", "Lte", "0.010"), ("cores", "Gte", "4")), {"pattern": "cx*"})
    assert bought(found) == {CX32, CX22}


def test_the_locations_of_the_pool_restrict_those_of_entries():
    assert bought(allowed({"pattern": "cx*"}, locations=["sin"])) == {"cx32 in sin"}
    assert bought(allowed({"pattern": "cx*", "locations": ["sin"]}, locations=["fsn1"])) == set()
    assert bought(allowed({"pattern": "cx*", "locations": ["sin", "fsn1"]}, locations=["fsn1"])) == {CX22, CX32}


def test_a_type_that_the_class_does_not_have_goes_by_its_name():
    assert allowed(needs(("cores", "Gte", "1")), {"pattern": "old*"}).holder("old1") == 1
    assert allowed(needs(("cores", "Gte", "1"))).holder("old1") is None
    assert allowed({"pattern": "*"}).holder("") is None


GONE = "its type {} is no longer among the pool's serverTypes"
ELSEWHERE = "its location {} is no longer among those that the pool has for {}"


@rows(
    ("machine", "entries", "spec", "objection"),
    {
        "a name": (("cx22", "fsn1"), ["CX22"], {}, ""),
        "another name": (("cx22", "fsn1"), ["cx32"], {}, GONE.format("cx22")),
        "a pattern": (("cx22", "fsn1"), [{"pattern": "cx*"}], {}, ""),
        "requirements": (("cx22", "fsn1"), [needs(("cores", "Gte", "2"))], {}, ""),
        "other requirements": (("cx22", "fsn1"), [needs(("cores", "Gt", "2"))], {}, GONE.format("cx22")),
        "only its price": (("cx22", "fsn1"), [needs(("price", "Lt", "0.001"))], {}, ""),
        "its price, and its size": (
            ("cx22", "fsn1"),
            [needs(("price", "Lt", "0.001"), ("cores", "Gt", "2"))],
            {},
            GONE.format("cx22"),
        ),
        "a location of the pool": (("cx22", "fsn1"), ["cx22"], {"locations": ["fsn1"]}, ""),
        "no location of the pool": (
            ("cx22", "hel1"),
            ["cx22"],
            {"locations": ["fsn1"]},
            ELSEWHERE.format("hel1", "cx22"),
        ),
        "no location of its entry": (
            ("cx22", "hel1"),
            [{"pattern": "cx*", "locations": ["fsn1"]}, "cx22"],
            {},
            ELSEWHERE.format("hel1", "cx22"),
        ),
        "the entry of before its price rose": (
            ("cx22", "hel1"),
            [needs(("price", "Lt", "0.001")) | {"locations": ["fsn1"]}, {"name": "cx22", "locations": ["hel1"]}],
            {},
            "",
        ),
        "a location that is not known": (("cx22", ""), ["cx22"], {"locations": ["fsn1"]}, ""),
        "withdrawn, by requirements": (("old1", "fsn1"), [needs(("cores", "Gt", "64"))], {}, ""),
        "withdrawn, by name": (("old1", "fsn1"), ["old1"], {}, ""),
        "withdrawn, and not named": (("old1", "fsn1"), ["cx22", {"pattern": "c*"}], {}, GONE.format("old1")),
        "of unknown facts": (("plain", "fsn1"), [needs(("cores", "Gt", "64"))], {}, ""),
    },
)
def test_a_machine_is_objected_to_only_by_what_is_known_and_not_by_its_price(machine, entries, spec, objection):
    assert allowed(*entries, **spec).objection(*machine) == objection


def test_the_facts_of_an_offering_are_what_its_class_tells():
    offered = scene(kinds=[server_type("cx22"), server_type("cax11")]).snapshot().classes[0].offerings
    of_two_cores = {
        "cores": 2,
        "memory": 4 * GIB,
        "dedicated": False,
        "currency": "EUR",
        "millicores": 2000,
        "capacity_bytes": 4 * GIB,
    }
    assert [facts_of(each) for each in offered] == [
        TypeInLocation("cx22", "fsn1", "amd64", price=Decimal("0.0066"), **of_two_cores),
        TypeInLocation("cax11", "fsn1", "arm64", price=Decimal("0.0050"), **of_two_cores),
    ]
    amounts = {"cpu": 1500, "memory": GIB}
    assert facts_of(Offering("CX1", "x", Decimal(1), "EUR", amounts)) == TypeInLocation(
        "cx1", "x", price=Decimal(1), currency="EUR", millicores=1500, capacity_bytes=GIB
    )


def test_the_max_of_a_pattern_counts_the_machines_of_all_types_that_it_holds():
    nodes = [node("a", "cx22"), node("b", "cx32"), node("c", "cx42"), node("d", "cx22", pool="other")]
    entries = [{"name": "cx42", "max": 3}, {"pattern": "cx*", "max": 4}, needs(("cores", "Gte", "2")) | {"max": 9}]
    snapshot = scene(*nodes, types=entries).snapshot()
    found = kinds_of_pools(snapshot)
    left = limits_left(machines_of(snapshot).values(), found)
    assert {kind.offering.server_type: left.left(kind, 100) for kind in found["default"].kinds} == {
        "cx22": 2,
        "cx32": 2,
        "cx42": 2,
        "cax11": 9,
    }
    of_pattern = next(kind for kind in found["default"].kinds if kind.offering.server_type == "cx22")
    left.take(of_pattern, 2)
    assert {k.offering.server_type for k in found["default"].kinds if left.exhausted(k)} == {"cx22", "cx32"}


PLACES = ("fsn1", "nbg1", "hel1")
ENTRIES = st.builds(
    lambda name, priority, most: {"name": name, "priority": priority} | ({} if most is None else {"max": most}),
    st.sampled_from([*KINDS, "CX22", "gone1", "gone2"]),
    st.integers(-2, 2),
    st.none() | st.integers(1, 5),
)


@given(
    entries=st.lists(ENTRIES, min_size=1, max_size=6, unique_by=lambda entry: entry["name"].lower()),
    places=st.lists(st.sampled_from(PLACES), min_size=1, unique=True),
)
def test_a_pool_that_names_its_types_buys_what_it_did_before_there_were_patterns(entries, places):
    kinds = [server_type(name, locations=places) for name in KINDS]
    snapshot = scene(types=entries, classes=[kwok_node_class(*kinds)]).snapshot()
    found = kinds_of_pools(snapshot)["default"]
    # As it was written: each offering of a named type, in the order of the class.
    wanted = {entry["name"].lower(): entry for entry in entries}
    assert [(k.offering, k.priority) for k in found.kinds] == [
        (offering, wanted[offering.server_type]["priority"])
        for offering in snapshot.classes[0].offerings
        if offering.server_type in wanted
    ]
    assert found.unknown_types == tuple(name for name in wanted if name not in KINDS)
    assert found.faults == ()


ANY_ENTRY = st.one_of(
    st.sampled_from([{"name": "cx22"}, {"name": "ccx13"}, {"pattern": "c?x*"}, {"pattern": "*"}, {"pattern": "cx*"}]),
    st.lists(
        st.sampled_from(
            [
                ("architecture", "NotIn", "arm64"),
                ("cores", "Gte", "4"),
                ("memory", "Lt", "8Gi"),
                ("dedicated", "In", "false"),
                ("price", "Lte", "0.010"),
                ("price", "Gt", "0.010"),
            ]
        ),
        min_size=1,
        max_size=3,
    ).map(lambda requirements: needs(*requirements)),
)
ANYWHERE = st.lists(st.sampled_from(["fsn1", "hel1", "sin"]), min_size=1, unique=True)


@given(
    entries=st.lists(
        st.builds(
            lambda entry, where: entry | ({"locations": where} if where else {}), ANY_ENTRY, st.none() | ANYWHERE
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda entry: entry.get("name", id(entry)),
    ),
    where=st.none() | ANYWHERE,
    prices=st.lists(st.sampled_from(["0.001", "0.010", "0.050"]), min_size=len(CLASS), max_size=len(CLASS)),
)
def test_what_was_bought_is_never_objected_to_as_long_as_only_prices_change(entries, where, prices):
    spec = {"locations": where} if where else {}
    once = allowed(*entries, **spec)
    dearer = tuple(replace(each, price=Decimal(price)) for each, price in zip(CLASS, prices, strict=True))
    now = allowed(*entries, known=dearer, **spec)
    for each in CLASS:
        if once.allows(each):
            assert now.objection(each.server_type, each.location) == ""
