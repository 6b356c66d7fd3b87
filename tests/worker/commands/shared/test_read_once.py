"""A command lists each kind once, however many machines there are, and writes nothing."""

import pytest

from activities.ports.cluster import NODES, PODS, ObjectList
from activities.ports.errors import NotFound
from tests.builders import pod
from worker.commands.shared.read_once import ReadOnce

A, B = pod("a", node="n1", namespace="shop"), pod("b", node="n2", namespace="shop")
OTHER = pod("a", node="n1", namespace="other")


class Counted:
    def __init__(self):
        self.calls = []

    async def list(self, resource):
        self.calls.append(resource)
        return ObjectList([A, B, OTHER], "7")

    async def get(self, resource, name, *, namespace=None):
        self.calls.append((resource, name))
        return {"metadata": {"name": name}}


async def test_many_questions_cost_one_list():
    cluster = Counted()
    read = ReadOnce(cluster)
    for _ in range(100):
        on_n1 = await read.list(PODS, fields="spec.nodeName=n1")
    assert [item["metadata"]["namespace"] for item in on_n1.items] == ["shop", "other"]
    assert (await read.list(PODS, namespace="shop", fields="spec.nodeName=n1")).items == [A]
    assert (await read.list(PODS, fields="status.nominatedNodeName=n1")).items == []
    assert await read.get(PODS, "b", namespace="shop") == B
    assert cluster.calls == [PODS]


async def test_what_was_not_there_is_not_found():
    read = ReadOnce(Counted())
    await read.list(PODS)
    with pytest.raises(NotFound, match="Pod c was not there"):
        await read.get(PODS, "c", namespace="shop")


async def test_of_a_kind_that_was_not_listed_one_object_is_read():
    cluster = Counted()
    await ReadOnce(cluster).get(NODES, "n1")
    assert cluster.calls == [(NODES, "n1")]


@pytest.mark.parametrize("selectors", [{"labels": "a=b"}, {"fields": "status.phase!=Failed"}, {"fields": "a"}])
async def test_a_selector_that_a_list_cannot_answer_is_an_error(selectors):
    with pytest.raises(ValueError, match="cannot be selected"):
        await ReadOnce(Counted()).list(PODS, **selectors)


async def test_writes_are_errors():
    read = ReadOnce(Counted())
    for write in (read.create(PODS, {}), read.patch(PODS, "a", []), read.delete(PODS, "a")):
        with pytest.raises(TypeError, match="only reads"):
            await write
