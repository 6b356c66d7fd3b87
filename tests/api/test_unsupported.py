"""Fields that nothing obeys yet: each has a wrong object, and none is offered to people."""

import pytest

from api.model import UnreadableError, read
from api.v1alpha1.node_pool import NodePool
from tests.api.cel_rules import SCHEMAS, complaints
from tests.api.objects import pool
from tests.api.test_schema import walk
from tests.api.wrong_objects import NOT_YET


def test_every_such_field_of_every_kind_has_a_wrong_object():
    declared = {
        path.removeprefix("NodePool.spec.").replace("[]", "")
        for kind, whole in SCHEMAS.items()
        for path, schema in walk(whole, kind)
        if "is not supported yet" in str(schema.get("x-kubernetes-validations"))
    }
    assert declared == set(NOT_YET)


def test_null_is_how_to_write_that_it_is_not_there():
    given = pool(scaleDown={"node": None, "taintEffect": None})
    assert read(NodePool, given) == read(NodePool, pool())
    assert complaints(given) == []


def test_a_slip_of_the_pen_is_not_led_to_one():
    with pytest.raises(UnreadableError) as caught:
        read(NodePool, pool(scaleDown={"tainteffect": "1m"}))
    assert "taintEffect" not in caught.value.fault


def test_it_is_not_written_back():
    assert not {path for path in NOT_YET if "." not in path} & read(NodePool, pool()).to_json()["spec"].keys()
