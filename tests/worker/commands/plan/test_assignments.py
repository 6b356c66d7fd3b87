"""`--set`: which field of which object a path means, what becomes of it, and one clear line where it means nothing."""

import copy

import pytest

from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from tests.builders import kwok_node_class, node_pool, server_type
from worker.commands.plan.assignments import changed, check_objects, notes, read_changed, setting
from worker.commands.plan.command import plan
from worker.commands.plan.objects import Objects
from worker.commands.plan.syntax import documents
from worker.errors import USAGE_ERROR, CommandError


def after(item, *texts):
    """Return the spec of an object after settings."""
    return changed(item, [setting(text) for text in texts])["spec"]


def types(spec):
    return {entry["name"]: entry.get("max") for entry in spec["serverTypes"]}


POOL = node_pool(types=[{"name": "CX22", "max": 5}, "cax21"])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pool/default.serverTypes.cax21.max=9", {"CX22": 5, "cax21": 9}),
        # Server types are the same in upper and lower case. Source: api/v1alpha1/node_pool.py, PoolServerType.name.
        ("pool/default.serverTypes.cx22.max=9", {"CX22": 9, "cax21": None}),
        ("NodePool/default.serverTypes[CAX21].max=9", {"CX22": 5, "cax21": 9}),
        ("pool/default.serverTypes.1.max=9", {"CX22": 5, "cax21": 9}),
        ("pool/default.serverTypes[0].max=9", {"CX22": 9, "cax21": None}),
        ("pool/default.serverTypes.*.max=9", {"CX22": 9, "cax21": 9}),
        ("pool/default.serverTypes.CX22.max=null", {"CX22": None, "cax21": None}),
        # The second has no max to remove, and the first has.
        ("pool/default.serverTypes.*.max=null", {"CX22": None, "cax21": None}),
        ("pool/default.serverTypes.cx22=null", {"cax21": None}),
        ("pool/default.serverTypes+={name: ccx13, max: 3}", {"CX22": 5, "cax21": None, "ccx13": 3}),
        ("pool/default.serverTypes+=[{name: a}, {name: b}]", {"CX22": 5, "cax21": None, "a": None, "b": None}),
        ('pool/default.serverTypes=[{"name": "a", "max": 2}]', {"a": 2}),
    ],
)
def test_server_types_by_name_and_number(path, expected):
    assert types(after(POOL, path)) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9", 9),
        ("true", True),
        ("30s", "30s"),
        ('"9"', "9"),
        ("[a, b]", ["a", "b"]),
        ("{a: 1}", {"a": 1}),
        (" a=b ", "a=b"),
        # Prices are decimal text, and no field of any kind holds a fraction.
        ("0.0100", "0.0100"),
        ("1e3", "1e3"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
    ],
)
def test_values_are_yaml(text, value):
    assert setting(f"pool/default.limits.max={text}").value == value


def test_the_kinds_and_their_short_names():
    words = ("pool", "NodePool", "class", "KwokNodeClass", "hetznernodeclass")
    assert {word: setting(f"{word}/x.a=1").kinds for word in words} == {
        "pool": ("NodePool",),
        "NodePool": ("NodePool",),
        "class": ("KwokNodeClass", "HetznerNodeClass"),
        "KwokNodeClass": ("KwokNodeClass",),
        "hetznernodeclass": ("HetznerNodeClass",),
    }


def test_fields_that_are_not_there_are_made():
    bare = node_pool(limits={"max": 3})
    assert "scaleDown" not in bare["spec"]
    assert after(bare, "pool/default.scaleDown.removal.retry=1m")["scaleDown"] == {"removal": {"retry": "1m"}}
    taint = {"key": "a", "effect": "NoSchedule"}
    assert after(bare, "pool/default.template.taints+={key: a, effect: NoSchedule}")["template"] == {"taints": [taint]}


def test_what_holds_a_dot_stands_in_brackets():
    item = kwok_node_class(server_type("m5.large"))
    spec = after(item, "class/default.serverTypes[m5.large].labels[example.com/team]=a")
    assert spec["serverTypes"][0]["labels"] == {"example.com/team": "a"}


def test_settings_follow_one_another():
    spec = after(POOL, "pool/default.serverTypes+={name: a}", "pool/default.serverTypes.a.max=4")
    assert types(spec)["a"] == 4


def test_all_locations_of_all_types_that_have_them():
    item = kwok_node_class(server_type("a", locations=("fsn1", "nbg1")), server_type("b", locations=("nbg1",)))
    spec = after(item, "class/default.serverTypes.*.locations.fsn1.available=false")
    available = [[place["available"] for place in kind["locations"]] for kind in spec["serverTypes"]]
    assert available == [[False, True], [True]]


def test_what_is_given_stays_as_it_is():
    item = copy.deepcopy(POOL)
    after(item, "pool/default.serverTypes.*.max=1", "pool/default.limits.max=1", "pool/default.serverTypes+={name: a}")
    assert item == POOL


def test_an_anchor_of_yaml_changes_only_where_it_is_named():
    text = b"spec: {serverTypes: [{name: a, locations: &l [{name: x}]}, {name: b, locations: *l}]}"
    (item,) = documents(text)
    kinds = after(item, "class/c.serverTypes.a.locations.x.stock=1")["serverTypes"]
    assert [kind["locations"] for kind in kinds] == [[{"name": "x", "stock": 1}], [{"name": "x"}]]


TAINTS = [{"key": "a", "effect": effect} for effect in ("NoSchedule", "NoExecute")] + [{"key": "b", "effect": "x"}]


def test_a_name_of_several_entries_means_all_of_them_and_is_told():
    item = node_pool(template={"taints": TAINTS})
    one = setting("pool/default.template.taints.a.value=v")
    assert [taint.get("value") for taint in changed(item, [one])["spec"]["template"]["taints"]] == ["v", "v", None]
    assert notes(item, [one]) == [
        "--set pool/default.template.taints.a.value: 2 entries go by the name a, and all of them are set"
    ]
    every = [setting("pool/default.template.taints.*.value=v"), setting("pool/default.template.taints.b.value=v")]
    assert notes(item, every) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pool/default", "pool/default: must be KIND/NAME.FIELD=VALUE, such as pool/default.limits.max=9"),
        ("pool/default=3", "pool/default=3: must be KIND/NAME.FIELD=VALUE"),
        ("default.limits.max=3", "default.limits.max=3: must be KIND/NAME.FIELD=VALUE"),
        ("pool/default.limits.max", "pool/default.limits.max: must be KIND/NAME.FIELD=VALUE"),
        ("pool/default.limits..max=3", "pool/default.limits..max=3: must be KIND/NAME.FIELD=VALUE"),
        ("pool/default.labels[a=3", "pool/default.labels[a=3: must be KIND/NAME.FIELD=VALUE"),
        ("two\nlines", "two lines: must be KIND/NAME.FIELD=VALUE"),
        ("x" * 200, f"{'x' * 60}...: must be KIND/NAME.FIELD=VALUE"),
        (f"pool/default{'.a' * 21}=3", f"pool/default{'.a' * 21}=3: must be KIND/NAME.FIELD=VALUE"),
        (
            "pod/a.nodeName=b",
            "pod/a.nodeName: the kind must be one of pool, nodepool, class, kwoknodeclass, hetznernodeclass, not pod",
        ),
        ("pool/default.limits.max=", "pool/default.limits.max: one value is needed; null removes what is there"),
        ("pool/default.limits.max=1\n---\n2", "pool/default.limits.max: one value is needed"),
        ("pool/default.limits.max=[1", "pool/default.limits.max: not YAML: did not find expected ',' or ']'"),
        ("pool/default.limits.max=\udcff", "pool/default.limits.max: the value is not a text in UTF-8"),
    ],
)
def test_what_is_no_setting_is_one_line(text, line):
    refused(line, lambda: setting(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "pool/default.serverTypes.ccx13.max=3",
            (
                "pool/default.serverTypes.ccx13.max: pool/default.serverTypes has no ccx13: there are CX22, cax21; "
                "to add one: --set 'pool/default.serverTypes+={name: NAME, ...}'"
            ),
        ),
        ("pool/default.serverTypes.2.max=3", "pool/default.serverTypes.2.max: pool/default.serverTypes has no 2: "),
        (
            "pool/default.serverTypes.cx22.max.most=3",
            "pool/default.serverTypes.cx22.max.most: pool/default.serverTypes.CX22.max is 5, and nothing is below it",
        ),
        (
            "pool/default.limits+=3",
            "pool/default.limits: pool/default.limits is no list, and += adds to lists",
        ),
        (
            "pool/default.limits.min=null",
            "pool/default.limits.min: pool/default.limits.min is not there, and null removes what is there",
        ),
        (
            "pool/default.template.taints.*.value=v",
            "pool/default.template.taints.*.value: pool/default.template.taints is not there",
        ),
        ("pool/default.prices.0=3", "pool/default.prices.0: pool/default.prices has no entries"),
        (
            "pool/default.faults.2.times=3",
            "pool/default.faults.2.times: pool/default.faults has no 2: its entries go by number, from 0 to 1",
        ),
    ],
)
def test_a_path_that_leads_nowhere_is_one_line_with_what_is_there(text, line):
    item = copy.deepcopy(POOL)
    item["spec"] |= {"prices": [], "faults": [{"call": "create"}, {"call": "boot"}]}
    refused(line, lambda: after(item, text))


def test_an_object_that_is_not_there():
    objects = Objects()
    one = setting("pool/gpu.limits.max=3")
    refused("pool/gpu.limits.max: there is no NodePool gpu: no file holds any", lambda: check_objects([one], objects))
    for name in ("default", "arm"):
        objects.add("f", "f", "NodePool", node_pool(name))
    refused(
        "pool/gpu.limits.max: there is no NodePool gpu: there are default, arm", lambda: check_objects([one], objects)
    )
    check_objects([setting("pool/arm.limits.max=3")], objects)


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (
            ["limits.max=0"],
            "pool/default.limits.max: NodePool default: spec.limits.max: must be at least 1, not 0",
        ),
        (
            ["limit.max=3"],
            "pool/default.limit.max: NodePool default: spec.limit: no such field; did you mean limits?",
        ),
        (
            ["scaleDown.idleAfter=30"],
            "pool/default.scaleDown.idleAfter: NodePool default: spec.scaleDown.idleAfter: 30 must be a number with a",
        ),
        (
            ["serverTypes.cx22=3"],
            "pool/default.serverTypes.cx22: NodePool default: spec.serverTypes[0]: must be a mapping, not 3",
        ),
        # The one that breaks a rule is named, and not one that was right before it.
        (["limits.max=4", "limits.min=5", "scaleDown.idleAfter=1m"], "pool/default.limits.min: NodePool default: "),
        (["limits.min=500", "limits.max=499"], "pool/default.limits.max: NodePool default: spec.limits: min 500 is"),
    ],
)
def test_a_value_that_breaks_a_rule_names_setting_object_and_field(texts, line):
    settings = [setting(f"pool/default.{text}") for text in texts]
    refused(line, lambda: read_changed(NodePool, POOL, settings))


def test_settings_may_be_right_only_together():
    settings = [setting("pool/default.limits.min=200"), setting("pool/default.limits.max=300")]
    refused("pool/default.limits.min: ", lambda: read_changed(NodePool, POOL, settings[:1]))
    made = read_changed(NodePool, POOL, settings)
    assert (made.spec.limits.min, made.spec.limits.max) == (200, 300)


def test_a_price_needs_no_quotes():
    read = read_changed(
        KwokNodeClass, kwok_node_class(), [setting("class/default.serverTypes.cx22.pricePerHour=0.0400")]
    )
    assert str(read.spec.server_types[0].price_per_hour) == "0.0400"


def test_the_line_of_a_name_that_means_several_goes_to_standard_error(capsys, tmp_path):
    path = tmp_path / "pool.yaml"
    path.write_text(
        "apiVersion: growth.dev/v1alpha1\nkind: NodePool\nmetadata: {name: x}\nspec:\n"
        "  serverTypes: [{name: a, max: 1}]\n"
        "  template: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}]}\n"
    )
    assert plan(file=(str(path),), settings=("pool/x.template.taints.a.value=v",)) == 0
    assert capsys.readouterr().err == (
        "growth: --set pool/x.template.taints.a.value: 2 entries go by the name a, and all of them are set\n"
    )


def refused(line, call):
    """Check that a call is refused in one line that begins so."""
    with pytest.raises(CommandError) as raised:
        call()
    told = str(raised.value)
    assert told.startswith(f"--set {line}")
    assert "\n" not in told
    assert raised.value.code == USAGE_ERROR
