"""ProvisioningRequests: who is told that Growth does not serve them, when, and how often.

Source: Cluster Autoscaler, "Provisioning Request CRD": its classes, and the conditions that it writes.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from activities.ports.cluster import PROVISIONING_REQUESTS
from activities.ports.errors import NotFound, Unreachable
from activities.round.fence import Fence, RoundWrites
from activities.round.provisioning_requests import NOT_SERVED, answer_provisioning_requests, is_unanswered
from tests.builders import NOW, before

OWN = "check-capacity.autoscaling.x-k8s.io"


def asked(name="train", klass=OWN, **parts):
    metadata = {"name": name, "namespace": "default", "creationTimestamp": before(minutes=2)}
    return {"metadata": metadata | parts.pop("metadata", {}), "spec": {"provisioningClassName": klass}} | parts


@pytest.mark.parametrize(
    ("item", "is_told"),
    [
        (asked(), True),
        (asked(klass="best-effort-atomic-scale-up.autoscaling.x-k8s.io"), True),
        (asked(klass="queued-provisioning.gke.io"), False),
        (asked(klass=None), False),
        (asked(spec=None), False),
        (asked(metadata={"creationTimestamp": before(seconds=59)}), False),
        (asked(metadata={"creationTimestamp": before(seconds=60)}), True),
        (asked(metadata={"creationTimestamp": None}), False),
        (asked(metadata={"deletionTimestamp": before(seconds=1)}), False),
        (asked(status={"conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted"}]}), False),
        (asked(status={"conditions": [{"type": "Failed", "status": "True", "reason": NOT_SERVED}]}), False),
        (asked(status={"conditions": []}), True),
    ],
)
def test_who_is_told(item, is_told):
    assert is_unanswered(item, NOW) is is_told


async def answered(world, now):
    async with Fence(world.ports).held("run/1") as hold:
        await answer_provisioning_requests(world.ports, RoundWrites(hold), now)
    return world.cluster.peek(PROVISIONING_REQUESTS)


async def test_it_is_told_once_and_after_a_minute(world):
    body = {"metadata": {"name": "train"}, "spec": asked()["spec"]}
    made = await world.cluster.create(PROVISIONING_REQUESTS, body, namespace="default")
    born = datetime.fromisoformat(made["metadata"]["creationTimestamp"])
    assert "status" not in (await answered(world, born + timedelta(seconds=59)))[0]
    [told] = await answered(world, born + timedelta(seconds=60))
    [condition] = told["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Failed", "True", NOT_SERVED)
    assert "spec.headroom" in condition["message"]
    assert list(await answered(world, born + timedelta(hours=1))) == [told]


@pytest.mark.parametrize("error", [NotFound("not defined"), Unreachable("knows none yet")])
async def test_a_cluster_without_them_is_no_trouble(world, error):
    class Reader:
        async def list(self, resource):
            raise error

    world.ports = replace(world.ports, reader=Reader())
    assert list(await answered(world, NOW)) == []
