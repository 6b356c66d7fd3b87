"""CapacityBuffers in whole rounds: read where they are defined, served, told of, and left to whoever has them.

Source: CapacityBuffer of SIG Autoscaling: its two versions, and the conditions that Cluster Autoscaler writes.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CAPACITY_BUFFERS, DEPLOYMENTS, NODE_REQUESTS, POD_TEMPLATES
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.round.observe import SURROUNDINGS

BETA, ALPHA = CAPACITY_BUFFERS
CPU = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}
SPEC = {"podTemplateRef": {"name": "web"}, "replicas": 4}


async def add_buffer(world, name="web", resource=BETA, **changes):
    spec = changes.pop("spec", SPEC)
    made = await world.cluster.create(resource, {"metadata": {"name": name, **changes}, "spec": spec}, namespace="shop")
    world.pass_time(timedelta(seconds=15))
    return made


async def add_template(world, spec=CPU):
    body = {"metadata": {"name": "web"}, "template": {"spec": spec}}
    return await world.cluster.create(POD_TEMPLATES, body, namespace="shop")


async def status(world, name="web", resource=BETA):
    return (await world.cluster.get(resource, name, namespace="shop")).get("status", {})


async def told(world, name="web", resource=BETA):
    conditions = (await status(world, name, resource)).get("conditions", ())
    return [(each["type"], each["status"], each["reason"], each["message"]) for each in conditions]


async def bought(world):
    return [item["spec"]["serverType"] for item in await world.items(NODE_REQUESTS)]


def gets(world):
    """Count what is read one by one from now on, by plural."""
    seen, call = [], world.cluster.get

    async def get(resource, *args, **options):
        seen.append(resource.plural)
        return await call(resource, *args, **options)

    world.cluster.get = get
    return seen


@pytest.mark.parametrize("resource", CAPACITY_BUFFERS, ids=lambda resource: resource.version)
async def test_room_is_bought_and_told_in_either_version(world, resource):
    await add_template(world)
    await add_buffer(world, resource=resource)
    await world.run()
    assert await bought(world) == ["cx32"], "four cores"
    made = await status(world, resource=resource)
    assert (made["replicas"], made["podTemplateRef"], made["provisioningStrategy"]) == (
        4,
        {"name": "web"},
        "buffer.x-k8s.io/active-capacity",
    )
    assert await told(world, resource=resource) == [
        ("ReadyForProvisioning", "True", "ReadByGrowth", "4 pods of cpu 1, memory 1Gi"),
        ("Provisioning", "True", "RoomKept", ""),
    ]
    before = await status(world, resource=resource)
    world.cluster.writes.clear()
    await world.run()
    assert not [write for write in world.cluster.writes if "capacitybuffers" in write], "told once"
    assert await status(world, resource=resource) == before
    assert await bought(world) == ["cx32"]


async def test_a_buffer_of_both_versions_is_one(world):
    await add_template(world)
    made = await add_buffer(world)

    class Both:
        async def list(self, resource):
            if resource == ALPHA:
                found = await world.cluster.list(BETA)
                assert [item["metadata"]["uid"] for item in found.items] == [made["metadata"]["uid"]]
                return found
            return await world.cluster.list(resource)

    world.ports = replace(world.ports, reader=Both())
    await world.run()
    assert await bought(world) == ["cx32"]


async def test_a_deployment_has_the_template_and_says_how_many(world):
    body = {"metadata": {"name": "web"}, "spec": {"replicas": 20, "template": {"spec": CPU}}}
    await world.cluster.create(DEPLOYMENTS, body, namespace="shop")
    ref = {"apiGroup": "apps", "kind": "Deployment", "name": "web"}
    await add_buffer(world, spec={"scalableRef": ref, "percentage": 10})
    activities = world.activities()
    await world.run(activities)
    assert (await status(world))["replicas"] == 2
    assert "podTemplateRef" not in await status(world)
    change = [{"op": "add", "path": "/spec/replicas", "value": 40}]
    await world.cluster.patch(DEPLOYMENTS, "web", change, namespace="shop")
    world.pass_time(timedelta(seconds=11))
    await world.run(activities)
    assert (await status(world))["replicas"] == 4


async def test_what_cannot_be_served_is_told_and_the_rest_goes_on(world):
    await add_buffer(world, "lost")
    await add_buffer(world, "odd", spec={"replicas": 1})
    await add_template(world)
    huge = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "640"}}}]}
    body = {"metadata": {"name": "huge"}, "template": {"spec": huge}}
    await world.cluster.create(POD_TEMPLATES, body, namespace="shop")
    await add_buffer(world, "large", spec={"podTemplateRef": {"name": "huge"}, "replicas": 2})
    await add_buffer(world, "gone", spec={"podTemplateRef": {"name": "gone"}, "replicas": 2})
    await world.run()
    assert [each[2] for each in await told(world, "lost")] == ["ReadByGrowth", "RoomKept"]
    assert await told(world, "odd") == [
        ("ReadyForProvisioning", "False", "UnreadableByGrowth", "spec: either podTemplateRef or scalableRef is needed")
    ]
    assert await told(world, "gone") == [
        ("ReadyForProvisioning", "False", "TemplateNotFound", "PodTemplate shop/gone does not exist")
    ]
    (ready, provisioning) = await told(world, "large")
    assert (ready[1], provisioning[:3]) == ("True", ("Provisioning", "False", "NoRoom"))
    assert provisioning[3].startswith("TooLarge: 2 of 2 pods of cpu 640 have no room: no machine of pool default")
    assert await bought(world) == ["cx32"]


async def test_a_template_that_comes_later_makes_it_ready(world):
    await add_buffer(world)
    activities = world.activities()
    await world.run(activities)
    first = (await status(world))["conditions"][0]
    assert first["status"] == "False"
    await add_template(world)
    world.pass_time(timedelta(seconds=11))
    await world.run(activities)
    assert [each[1] for each in await told(world)] == ["True", "True"]
    assert (await status(world))["conditions"][0]["lastTransitionTime"] > first["lastTransitionTime"]


OTHERS = {"type": "ReadyForProvisioning", "status": "True", "reason": "AttributesSetSuccessfully", "message": "ready"}


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": SPEC | {"provisioningStrategy": "buffer.gke.io/standby-capacity"}},
        {"annotations": {"growth.dev/capacity-buffer": "false"}},
        {"conditions": [OTHERS]},
    ],
)
async def test_what_is_anothers_is_left_alone(world, changes):
    conditions = changes.pop("conditions", None)
    await add_template(world)
    await add_buffer(world, **changes)
    if conditions:
        await world.cluster.put(BETA, "web", "/status", {"conditions": conditions})
    before, seen = await status(world), gets(world)
    await world.run()
    assert (await status(world), await bought(world)) == (before, [])
    assert "podtemplates" not in seen


async def test_taken_over_it_keeps_what_others_say_beside(world):
    await add_template(world)
    await add_buffer(world, annotations={"growth.dev/capacity-buffer": "true"})
    quota = {"type": "LimitedByQuotas", "status": "True", "reason": "ResourceQuotasAllocated", "message": "m"}
    await world.cluster.put(BETA, "web", "/status", {"conditions": [OTHERS, quota], "readyReplicas": 1})
    await world.run()
    assert [each[2] for each in await told(world)] == ["ResourceQuotasAllocated", "ReadByGrowth", "RoomKept"]
    assert (await status(world))["readyReplicas"] == 1


async def test_others_have_the_time_to_answer_and_the_round_after_that_is_in_time(world):
    await add_template(world)
    made = await world.cluster.create(BETA, {"metadata": {"name": "web"}, "spec": SPEC}, namespace="shop")
    result = await world.run()
    assert (await bought(world), await status(world)) == ([], {})
    assert result.wake_at is not None
    assert result.wake_at - world.now() <= timedelta(seconds=15)
    world.pass_time(result.wake_at - world.now())
    await world.run()
    assert (await bought(world), made["metadata"]["name"]) == (["cx32"], "web")


async def test_who_answers_at_the_same_time_is_not_overwritten(world):
    await add_template(world)
    await add_buffer(world)

    def first(verb, resource, name):
        if (verb, resource) == ("patch", BETA):
            world.cluster.refuse = None
            item = world.cluster.peek(BETA)[0]
            changed = {**item, "status": {"conditions": [OTHERS]}}
            world.cluster._store.put(BETA, ("shop", "web"), changed)

    world.cluster.refuse = first
    await world.run()
    assert (await status(world))["conditions"] == [OTHERS]


async def test_rounds_that_follow_each_other_do_not_read_the_template_again(world):
    await add_template(world)
    await add_buffer(world)
    activities, seen = world.activities(), gets(world)
    for _ in range(5):
        await world.run(activities)
        world.pass_time(timedelta(seconds=1))
    assert seen.count("podtemplates") == 1
    world.pass_time(timedelta(seconds=10))
    await world.run(activities)
    assert seen.count("podtemplates") == 2


async def test_an_api_server_that_does_not_answer_changes_nothing(world):
    await add_template(world)
    await add_buffer(world)
    activities = world.activities()
    await world.run(activities)
    before, call = await status(world), world.cluster.get

    async def get(resource, *args, **options):
        if resource == POD_TEMPLATES:
            raise Unreachable("no answer")
        return await call(resource, *args, **options)

    world.cluster.get = get
    world.pass_time(timedelta(minutes=1))
    await world.run(activities)
    assert (await status(world), await bought(world)) == (before, ["cx32"]), "by what was read before"
    await world.run()
    assert await status(world) == before, "a worker that knows nothing says nothing"


async def test_a_template_that_may_not_be_read_is_told(world):
    await add_buffer(world)
    call = world.cluster.get

    async def get(resource, *args, **options):
        if resource == POD_TEMPLATES:
            raise Forbidden("no", user="growth", verb="get", resource="podtemplates", advice="grant it")
        return await call(resource, *args, **options)

    world.cluster.get = get
    await world.run()
    assert [each[1:3] for each in await told(world)] == [("False", "MayNotReadTemplate")]


@pytest.mark.parametrize("error", [NotFound("not defined"), Unreachable("knows none yet")])
async def test_a_cluster_without_them_is_no_trouble(world, error):
    class Reader:
        async def list(self, resource):
            if resource in CAPACITY_BUFFERS:
                raise error
            return await world.cluster.list(resource)

    world.ports = replace(world.ports, reader=Reader())
    seen = gets(world)
    await world.run()
    assert not {"podtemplates", "deployments"} & set(seen)


async def test_where_nobody_has_made_one_nothing_more_is_asked_for(world):
    seen = gets(world)
    await world.run()
    assert set(seen) <= {"leases", "customresourcedefinitions"}
    assert not set(CAPACITY_BUFFERS) & set(SURROUNDINGS)


async def test_one_without_a_namespace_is_of_the_first_definitions_and_left_alone(world):
    early = replace(BETA, namespaced=False)
    await world.cluster.create(early, {"metadata": {"name": "web"}, "spec": SPEC})
    world.pass_time(timedelta(seconds=15))

    class Reader:
        async def list(self, resource):
            return await world.cluster.list(early if resource == BETA else resource)

    world.ports = replace(world.ports, reader=Reader())
    result = await world.run()
    assert "refused" not in result.summary
    assert "status" not in world.cluster.peek(early)[0]
