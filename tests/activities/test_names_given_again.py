"""A name may be given again, by hand: a removal knows whose machine it is about, by the uid of its request."""

from activities.ports.cluster import NODE_POOLS, NODE_REMOVAL_REQUESTS
from api.keys import ANNOTATION_DELETE_MACHINES, LABEL_REQUEST, LABEL_REQUEST_UID
from tests.activities.rounds import begun, nothing


async def add_machine(world, name, **labels):
    body = {"growth.dev/pool": "default", "growth.dev/server-type": "cx32", LABEL_REQUEST: name, **labels}
    await world.add_node(name, labels=body)


async def test_a_round_says_whose_machine_shall_go(world):
    await add_machine(world, "default-a", **{LABEL_REQUEST_UID: "u-1"})
    await add_machine(world, "default-b")
    await world.carry_out(nothing(removals=(begun("default-a"), begun("default-b"))))
    first, second = await world.items(NODE_REMOVAL_REQUESTS)
    assert first["metadata"]["labels"][LABEL_REQUEST_UID] == "u-1"
    assert LABEL_REQUEST_UID not in second["metadata"]["labels"]


async def test_so_does_the_end_of_a_pool_with_its_machines(world):
    await add_machine(world, "default-a", **{LABEL_REQUEST_UID: "u-1"})
    await world.carry_out(nothing())
    await world.cluster.put(NODE_POOLS, "default", "/metadata/annotations", {ANNOTATION_DELETE_MACHINES: "true"})
    await world.cluster.delete(NODE_POOLS, "default")
    await world.carry_out(nothing())
    [removal] = await world.items(NODE_REMOVAL_REQUESTS)
    assert removal["spec"]["location"] == "unknown", "its Node does not tell, and goes all the same"
    assert removal["metadata"]["labels"][LABEL_REQUEST_UID] == "u-1"
