"""What a machine is made with has one hash, the same for every worker that knows this version of it."""

import pytest

from api.v1alpha1.node_pool import ClassRef, NodePool
from planner.objects.class_template import ClassTemplate, is_comparable, template_hash, unlisted
from tests.builders import node_pool

REF = ClassRef(kind="HetznerNodeClass", name="default")
TEMPLATE = {
    "labels": {"team": "a", "tier": "web"},
    "taints": [
        {"key": "team", "value": "a", "effect": "NoSchedule"},
        {"key": "team", "effect": "NoExecute"},
    ],
}
MADE = ClassTemplate(
    common={"userData": {"template": "#!/bin/sh"}, "sshKeys": ["a", "b"]},
    by_architecture={"amd64": {"image": {"name": "debian-12"}}, "arm64": {"image": {"name": "debian-12-arm"}}},
    by_type={"cx22": {"labels": {"disk": "ssd"}}},
)


def pool(template=TEMPLATE, **spec):
    return NodePool.model_validate(node_pool(template=template, **spec))


def hashed(of=None, made=MADE, kind="cx22", architecture="amd64", ref=REF):
    return template_hash(of or pool(), ref, made, kind, architecture)


def test_the_hash_of_given_objects_never_changes_under_one_version():
    # Written down when v1 was made. A change here replaces every machine there is: raise the version instead.
    assert hashed() == "v1:abc7362a5d6871a5"
    assert template_hash(pool({}), REF, ClassTemplate(), "cx22", "amd64") == "v1:f4ba0c48b3623408"
    assert unlisted("v1:0123456789abcdef") == "v1:b5b88258552d7cab"


def test_order_says_nothing():
    turned = {"labels": {"tier": "web", "team": "a"}, "taints": TEMPLATE["taints"][::-1]}
    assert hashed(pool(turned)) == hashed()
    reordered = ClassTemplate(
        common=dict(reversed(MADE.common.items())), by_architecture=MADE.by_architecture, by_type=MADE.by_type
    )
    assert hashed(made=reordered) == hashed()


@pytest.mark.parametrize(
    "spec",
    [
        {"limits": {"max": 7}},
        {"scaleDown": {"mode": "drain"}},
        {"rotation": {"maxNodeAge": "720h"}},
        {"paused": True},
        {"types": ["cx22"]},
        {"types": [{"name": "cx22", "max": 3, "priority": 4}, "cx32"]},
        {"scaleUp": {"reserve": False}},
        {"matchUnselectedPods": True},
        {"name": "another"},
    ],
)
def test_how_machines_come_and_go_says_nothing(spec):
    assert hashed(pool(**spec)) == hashed()


@pytest.mark.parametrize(
    "template",
    [
        TEMPLATE | {"labels": {"team": "b", "tier": "web"}},
        TEMPLATE | {"labels": {"team": "a"}},
        TEMPLATE | {"taints": TEMPLATE["taints"][:1]},
        TEMPLATE | {"taints": [TEMPLATE["taints"][0] | {"value": "b"}, TEMPLATE["taints"][1]]},
        TEMPLATE | {"taints": [TEMPLATE["taints"][0] | {"effect": "PreferNoSchedule"}, TEMPLATE["taints"][1]]},
    ],
)
def test_each_part_of_the_template_counts(template):
    assert hashed(pool(template)) != hashed()


def test_each_part_of_the_class_counts_for_the_machines_that_it_is_about():
    another_image = ClassTemplate(
        common=MADE.common,
        by_architecture=MADE.by_architecture | {"arm64": {"image": {"name": "debian-13"}}},
        by_type=MADE.by_type,
    )
    assert hashed(made=another_image) == hashed()
    assert hashed(made=another_image, architecture="arm64") != hashed(architecture="arm64")
    another_type = ClassTemplate(
        MADE.common, MADE.by_architecture, {"cx32": {"labels": {"disk": "hdd"}}, **MADE.by_type}
    )
    assert hashed(made=another_type) == hashed()
    assert hashed(made=another_type, kind="cx32") != hashed(kind="cx32")
    assert hashed(kind="CX22") == hashed()
    assert hashed(ref=ClassRef(kind="HetznerNodeClass", name="other")) != hashed()


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "v1",
        "v1:",
        "v1:XYZ",
        "v1:0123456789abcde",
        "v1:0123456789abcdef0",
        "v1:0123456789ABCDEF",
        "v2:0123456789abcdef",
        "v1:0123456789abcdef\n",
        " v1:0123456789abcdef",
        "0123456789abcdef",
    ],
)
def test_what_cannot_be_compared(text):
    assert not is_comparable(text)


def test_what_can():
    assert is_comparable(hashed())
    assert is_comparable(unlisted(hashed()))
    assert unlisted(hashed()) != hashed()
