"""Faults of other autoscalers for Hetzner that no single part here answers for: see docs/hetzner.md, "Known faults"."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.errors import InsufficientCapacity
from tests.activities.providers.hetzner.scenes import ORDER, ProviderScene
from tests.builders import hetzner_node_class, node, pod
from tests.worker.hetzner_dump import CATALOGUE, dump, hetzner_pool, place, server_type
from tests.worker.hetzner_dump import hetzner_class as class_of_dump
from worker.commands.plan.command import plan

WORKERS = {"role": "worker"}


@pytest.fixture
def planned(capsys, tmp_path):
    """Return a function that plans for objects."""

    def run(*objects):
        path = tmp_path / "dump.yaml"
        path.write_text(dump(*objects))
        assert plan(file=(str(path),), now="2026-03-01T12:00:00Z", output="json") == 0
        return json.loads(capsys.readouterr().out)

    return run


def bought(made) -> list[tuple[str, str]]:
    return [(one["pool"], one["serverType"]) for one in made["requests"]]


def test_the_cheapest_type_that_fits_is_bought_and_not_the_first_of_the_list(planned):
    # Karpenter-provider-hetzner, issue 62: 129.99 EUR a month instead of 29.49, as cpx62 stands before cx53 in the API.
    types = [
        server_type("cpx62", 16, 32, 640, place("fsn1", "0.2083", "129.99")),
        server_type("cx53", 16, 32, 320, place("fsn1", "0.0473", "29.49")),
    ]
    made = planned(class_of_dump(serverTypes=types), hetzner_pool(types=("cpx62", "cx53")), pod("web", "10", "20Gi"))
    assert (bought(made), made["costPerHour"]) == ([("default", "cx53")], "0.0481")


def test_a_node_of_a_dedicated_server_takes_pods_and_is_never_removed(planned):
    # kubernetes/autoscaler#6716: such a node, or one whose server is gone, stopped everything.
    robot = node("robot", "cx42", pool=None, spec={"providerID": "hrobot://321"})
    lost = node("lost", "cx42", pool=None, ready=False, spec={"providerID": "hcloud://999"})
    unreadable = node("odd", "cx42", pool=None, ready=False, spec={"providerID": "hcloud://bm-7"})
    surroundings = (class_of_dump(), hetzner_pool(), robot, lost, unreadable)
    made = planned(*surroundings, pod("large", "7", "2Gi"))
    assert [(one["pod"], one["node"]) for one in made["placed"]] == [("default/large", "robot")]
    assert (made["requests"], made["removals"]) == ([], [])
    # The robot is full then, and what is lost is no room.
    made = planned(*surroundings, pod("large", "7", "2Gi", node="robot"), pod("small", "1500m", "2Gi"))
    assert (bought(made), made["placed"], made["removals"]) == ([("default", "cx23")], [], [])


def test_a_pool_whose_type_is_withdrawn_stops_no_other_pool(planned):
    # kubernetes/autoscaler PR 7211: it stopped all of them.
    gone = hetzner_pool("gone", ("cpx11",))
    made = planned(class_of_dump(), gone, hetzner_pool(types=("cx23",)), pod("web", "1500m", "2Gi"))
    assert (made["result"], bought(made)) == ("AllPlaced", [("default", "cx23")])
    made = planned(
        class_of_dump(), gone, hetzner_pool(types=("cx23",)), pod("web", nodeSelector={"growth.dev/pool": "gone"})
    )
    (reason,) = made["unplaced"][0]["reasons"]
    assert (bought(made), reason["code"]) == ([], "OfferingUnavailable")
    assert "cpx11 in fsn1 is no longer sold since 2026-02-20" in reason["message"]


def test_a_machine_with_pods_is_not_replaced_by_a_cheaper_one(planned):
    # Karpenter-provider-hcloud: a notion of spot servers, which Hetzner has not, replaced machines every 27 seconds.
    machine = node("default-a1", "cx42", labels={"growth.dev/server-type": "ccx13"})
    made = planned(class_of_dump(), hetzner_pool(), machine, pod("web", "100m", "100Mi", node="default-a1"))
    assert (made["result"], made["requests"], made["removals"]) == ("NoDemands", [], [])
    assert min(one["locations"][0].get("pricePerHour", "1") for one in CATALOGUE) < "0.0689", "there is a cheaper one"


async def test_the_third_of_five_fails_and_is_asked_for_elsewhere(scene):
    # After Cluster Autoscaler's source: a counter that is off, and servers left behind, when one of several fails.
    scene.fail("create_server", status=412, code="resource_unavailable", server_type="cx23", name="default-3")
    made, missed = [], []
    for number in range(1, 6):
        try:
            made.append((await scene.create(replace(ORDER, name=f"default-{number}"))).name)
        except InsufficientCapacity:
            missed.append(f"default-{number}")
    assert missed == ["default-3"]
    assert sorted(scene.servers()) == made == ["default-1", "default-2", "default-4", "default-5"]
    again = await scene.create(replace(ORDER, name="default-6", server_type="cx33"))
    assert again.server_type == "cx33"
    scene.pass_time(60)
    assert len(await scene.provider.list("one")) == len(scene.servers()) == 5


async def test_a_newer_snapshot_is_used_for_the_next_server_once_the_class_was_looked_up_anew():
    # Karpenter-provider-hetzner compares a server's image with itself, so that a new one is never seen.
    scene = ProviderScene()
    for architecture in ("x86", "arm"):
        scene.cloud.add_image(architecture=architecture, labels=WORKERS)
    await scene.open(hetzner_node_class(image={"selector": "role=worker"}))
    await scene.create()
    newer = scene.cloud.add_image(labels=WORKERS, created=scene.now + timedelta(minutes=1))
    await scene.tend_for(12 * 60)
    await scene.create(replace(ORDER, name="default-b2"))
    images = {server.name: server.image for server in scene.servers().values()}
    assert images["default-b2"] == newer != images["default-a1"]
