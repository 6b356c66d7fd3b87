"""Limits of projects: of calls and of servers. Growth waits for both, and what is of other projects goes on."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.builders import deployment
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_scene import HetznerScene, hetzner_scene, pool

WATCHED_SECONDS = 20
MOST_REFUSED_CALLS = 20
"""Meanwhile, calls that are refused for being too many. Source: Growth's own budget, 0.9 a second."""
LIMIT = 5
WANTED = LIMIT + 1

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


def test_projects_without_calls_and_without_servers_wait_while_others_buy(control_plane: ControlPlane, tmp_path: Path):
    """One project has no calls for a while, another may have five servers of six; a KWOK pool has no limit."""
    started = {"cluster": "hetzner-limits", "objects": ("class.yaml",), "quick": True}
    # A Node with an id of Hetzner's is a real one.
    allowed = {"GROWTH_SIMULATED_MACHINES": "true"}
    with hetzner_scene(control_plane, tmp_path, environment=allowed, **started) as scene:
        for name in ("slow", "small"):
            scene.add_class(name, scene.add_project(name))
        scene.cloud.set_server_limit(LIMIT, project="small")
        scene.growth.start()
        for name in ("slow", "small"):
            scene.wait_looked_up(name)
        scene.apply(pool("slow", ["cx23"]), pool("small", ["cx23"]), pool("default", ["cx22"], kind="KwokNodeClass"))
        scene.cloud.use_up_calls(scene.secrets[-2], "slow", per_second=0.01)
        began = time.monotonic()
        scene.apply(_selecting("slow", 3), _selecting("small", WANTED))
        scene.plane.wait_for(lambda: _on(scene, "small") == LIMIT, "the limit is reached")
        _others_buy(scene)
        time.sleep(max(0.0, WATCHED_SECONDS - (time.monotonic() - began)))
        _few_calls_were_tried(scene)
        _limit_is_told(scene)
        scene.cloud.set_rate_limit(3600, project="slow")
        _all_is_placed(scene)


def _others_buy(scene: HetznerScene) -> None:
    began = time.monotonic()
    scene.apply(deployment("other", 2, "400m", "512Mi", spread=True))
    scene.plane.wait_for(lambda: _running(scene, "other") == 2, "pods of the pool without limits run", 40)
    print(f"\nbeside two limits: 2 KWOK machines in {time.monotonic() - began:.1f} s")


def _few_calls_were_tried(scene: HetznerScene) -> None:
    refused = scene.cloud.count_of("slow", status=429)
    assert 1 <= refused <= MOST_REFUSED_CALLS
    assert scene.cloud.servers_of("slow") == []
    request = scene.view.items("noderequests", labels="growth.dev/pool=slow")
    told = {each["status"].get("reason") for each in request}
    print(f"\nno calls for {WATCHED_SECONDS} s: {refused} were tried; requests say {told}")


def _limit_is_told(scene: HetznerScene) -> None:
    refused = scene.cloud.count_of("small", what="POST /servers", status=403)
    assert 1 <= refused <= 2, "a project that is full was asked too often meanwhile"
    assert len(scene.cloud.servers_of("small")) == LIMIT
    pause = scene.node_class("small")["status"]["pause"]
    assert "server limit exceeded" in pause["message"]
    (pending,) = (
        pod["metadata"]["name"]
        for pod in scene.view.pods()
        if _is_of(pod, "small") and pod["status"]["phase"] == "Pending"
    )
    told = scene.commands.told("why", "pod", pending)
    line = next((line for line in told.splitlines() if "server limit exceeded" in line), "")
    assert "BuyingPaused" in line, told
    assert _on(scene, "small") == LIMIT
    print(
        f"\nlimit of {LIMIT} servers: {refused} calls refused, paused until {pause['until']}; growth why pod:\n{line}"
    )


def _all_is_placed(scene: HetznerScene) -> None:
    began = time.monotonic()
    scene.plane.wait_for(lambda: _running(scene, "slow") == 3, "all pods run once there are calls again", 90)
    assert len(scene.cloud.servers_of("slow")) == 3
    assert scene.cloud.count_of("slow", what="POST /servers", status=201) == 3, "a server was made twice"
    print(f"\ncalls are back: 3 pods run {time.monotonic() - began:.1f} s later, on 3 servers")


def _selecting(pool_name: str, replicas: int) -> dict[str, Any]:
    """Return a Deployment of that name, of which each pod wants a machine of that pool."""
    body = deployment(pool_name, replicas, "400m", "512Mi", spread=True)
    body["spec"]["template"]["spec"]["nodeSelector"] = {"growth.dev/pool": pool_name}
    return body


def _is_of(pod: dict[str, Any], app: str) -> bool:
    return pod["metadata"]["labels"]["app"] == app


def _running(scene: HetznerScene, app: str) -> int:
    return sum(_is_of(pod, app) and pod["status"]["phase"] == "Running" for pod in scene.view.pods())


def _on(scene: HetznerScene, app: str) -> int:
    """Return how many nodes the running pods stand on."""
    nodes = {pod["spec"].get("nodeName") for pod in scene.view.pods() if _is_of(pod, app)}
    return len(nodes - {None}) if _running(scene, app) == len(nodes - {None}) else 0
