"""The fake Hetzner API as people and rules of a history see it."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from activities.kube.json_patch import escape
from activities.ports.cluster import NODE_REQUESTS, NODES, Object, Resource
from activities.ports.errors import AlreadyExists, NotFound
from activities.providers.built_in import HETZNER_NODE_CLASSES
from api.keys import GROUP, LABEL_CLUSTER, LABEL_HOSTNAME
from planner.lifecycle.request import OF_THE_ACCOUNT
from planner.supply.unavailable import MOST_FAILED
from simulator.apiserver.history import Change
from simulator.apiserver.store import Observer
from simulator.campaign.hetzner.setup import OTHERS_TYPE
from simulator.campaign.judging.provider_side import Side, labels_of_others
from simulator.campaign.judging.recorder import SERVERS
from simulator.hetzner.calls.creation import GROUP_MEMBERS
from simulator.hetzner.cloud import Recorded
from simulator.hetzner.faults import Faults
from simulator.hetzner.project.server import ServerRecord
from simulator.hetzner.world import TOKEN, CountedCalls, HetznerWorld
from simulator.world import CLUSTER_NAME

_OTHERS_TOKEN: Final = "o" * 64
_OLD: Final = timedelta(hours=1)
_SECRET_PART: Final = TOKEN[:32]
"""Of the token: what a refused call tells of it is half."""
_MANAGED: Final = f"/metadata/annotations/{escape('kwok.x-k8s.io/node')}"
_BURST: Final = 60
_PER_SECOND: Final = 0.9
"""Calls that one worker may make at once, and in a second. Source: docs/hetzner.md, "Calls"."""
_OF_CLASS: Final = ("read_catalogue", "read_images", "read_networks", "read_firewalls", "read_ssh_keys")
_CHECK: Final = "/servers/0"
"""Path of a call that only asks whether a token may write."""


class HetznerSide(Side):
    """A Hetzner project.

    Args:
        world: where it is.
    """

    def __init__(self, world: HetznerWorld) -> None:
        super().__init__()
        self.world = world
        self.cloud = world.cloud
        self.cloud.add_token(_OTHERS_TOKEN)
        self.takes_name: Callable[[], bool] = lambda: False
        """Whether another cluster takes the name of the next server just before it is made."""
        self.narrowed: list[tuple[frozenset[str], frozenset[str]]] = []
        """Server types and locations that a limit has stopped at some time."""
        self.is_all_stopped = False
        """Whether something has stopped all of the class at some time."""
        self._violations: list[str] = []
        self._is_others = False
        """Whether a call is another cluster's."""
        self.cloud.before_call = self._before_call
        self.cloud.after_call = self._count
        world.cluster.observe(self._look_for_token)
        world.cluster.observe(self._look_for_wide_refusals)
        self.cloud.told.append(self._compare)

    def observe(self, observer: Observer) -> None:
        """Call `observer` within every change of servers: `Side.observe`."""
        self.cloud.told.append(lambda before, now: observer(SERVERS, _change(before, now)))

    def add_violation(self, violation: str) -> None:
        """Add what somebody else has seen workers do and must not have."""
        self._violations.append(violation)

    def wrong(self) -> list[str]:
        """Return the workers' forbidden calls to the provider: `Side.wrong`."""
        crowded = [
            f"placement group {group.name} has {len(group.servers)} servers"
            for group in self.cloud.project().groups.values()
            if len(group.servers) > GROUP_MEMBERS
        ]
        spent = [
            f"worker {number} made {line.calls} calls in {self._age(line):.0f} s"
            for number, line in enumerate(self.world.lines, start=1)
            if line.calls > _BURST + _PER_SECOND * self._age(line) + 1
        ]
        return [*self._violations, *crowded, *spent]

    async def plant(self, name: str) -> None:
        """Let another cluster have a server of this name: `Side.plant`."""
        self.plant_now(name)

    def plant_now(self, name: str) -> None:
        """Let another cluster have a server of this name, if it is free; it never runs."""
        body = {
            "name": name,
            "server_type": OTHERS_TYPE,
            "location": "fsn1",
            "image": "debian-12",
            "labels": labels_of_others(name, len(self.foreign)),
            "start_after_create": False,
        }
        faults, self.cloud.faults = self.cloud.faults, Faults()
        self._is_others = True
        reply = self.cloud.handle("POST", "/servers", (), body, _OTHERS_TOKEN)
        self.cloud.faults, self._is_others = faults, False
        if reply.status == HTTPStatus.CREATED:
            # No history is long enough for one to become as old as an orphan.
            self.cloud.project().servers[reply.body["server"]["id"]].created -= _OLD
            self.foreign.add(name)

    async def plant_node(self) -> None:
        """Let there be a Node of a dedicated server, which no cloud makes and deletes."""
        name = f"robot-{len(self.foreign_nodes)}"
        amounts = {"cpu": "1", "memory": "2Gi", "pods": "20", "ephemeral-storage": "20Gi"}
        node: Object = {
            "metadata": {
                "name": name,
                "labels": {LABEL_HOSTNAME: name},
                "annotations": {"kwok.x-k8s.io/node": "fake"},
            },
            "spec": {"providerID": f"hrobot://{len(self.foreign_nodes) + 321}"},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        with suppress(AlreadyExists):
            self.foreign_nodes.add(name)
            await self.world.cluster.create(NODES, node)

    async def lose(self, name: str) -> None:
        """Let a server vanish: `Side.lose`."""
        self.lost.add(name)
        with suppress(KeyError):
            self.cloud.vanish(name)
        with suppress(NotFound):
            await self.world.cluster.patch(NODES, name, [{"op": "add", "path": _MANAGED, "value": "gone"}])

    def calm(self) -> None:
        """End all troubles: `Side.calm`."""
        self.takes_name = lambda: False
        self.cloud.faults.clear()

    def _before_call(self, method: str, path: str, body: Any) -> None:
        if self._is_others or method != "POST" or path != "/servers":
            return
        if self.takes_name():
            self.plant_now(body["name"])
        if any(fault.kind == "late" for fault in self.cloud.faults):
            # It may take effect once more, whenever that is.
            self.late[body["name"]] += 1

    def _count(self, call: Recorded) -> None:
        if self._is_others:
            return
        if call.path == _CHECK:
            self.class_calls["check of the token"] += 1
        elif call.verb in _OF_CLASS:
            self.class_calls[call.verb] += 1
        else:
            self.calls[call.verb] += 1

    def _age(self, line: CountedCalls) -> float:
        return (self.cloud.timeline.now - line.began_at).total_seconds()

    def _compare(self, before: ServerRecord | None, now: ServerRecord | None) -> None:
        """Compare a server that comes, or that begins to run, with what its class says."""
        if now is None or self._is_others or now.labels.get(LABEL_CLUSTER) != CLUSTER_NAME:
            return
        (spec,) = [item["spec"] for item in self.world.cluster.peek(HETZNER_NODE_CLASSES)]
        if before is None:
            if now.has_ipv4 is not spec.get("enableIPv4", True):
                self._violations.append(f"server {now.name} has an IPv4 address: {now.has_ipv4}")
            if (spec.get("placement") or {}).get("required") and now.placement_group is None:
                self._violations.append(f"server {now.name} is in no placement group")
        if now.status == "running" and spec.get("networks") and not now.networks:
            self._violations.append(f"server {now.name} runs without its network")

    def _look_for_wide_refusals(self, resource: Resource, change: Change) -> None:
        """Find what waits for a limit that does not concern it."""
        if self.is_all_stopped:
            return
        status, before = change.now.get("status") or {}, (change.before or {}).get("status") or {}
        failed = (status.get("failedPurchases") or {}).get("inARow", 0)
        if resource == HETZNER_NODE_CLASSES and failed >= MOST_FAILED:
            # It pauses as it should.
            self.is_all_stopped = True
        elif resource == HETZNER_NODE_CLASSES and status.get("pause") and not before.get("pause"):
            self._violations.append(f"all of the class pauses: {status['pause']['message']}")
        if resource == NODE_REQUESTS and status.get("reason") in OF_THE_ACCOUNT and status != before:
            wanted = change.now["spec"]
            if not any(
                wanted["serverType"] in types and wanted["location"] in places for types, places in self.narrowed
            ):
                request = f"{change.now['metadata']['name']} ({wanted['serverType']} in {wanted['location']})"
                self._violations.append(
                    f"request {request} waits for what does not concern it: {status.get('message')}"
                )

    def _look_for_token(self, resource: Resource, change: Change) -> None:
        is_told = resource.group == GROUP or resource.plural == "events"
        if is_told and _SECRET_PART in json.dumps(change.now):
            self._violations.append(f"{resource.kind} {change.now['metadata']['name']} tells the token")


def _change(before: ServerRecord | None, now: ServerRecord | None) -> Change:
    after = now or before
    assert after is not None  # noqa: S101 - for type checkers
    kind = "ADDED" if before is None else "DELETED" if now is None else "MODIFIED"
    return Change(0, kind, _record(after), None if before is None else _record(before))


def _record(server: ServerRecord) -> Object:
    return {
        "metadata": {"name": server.name, "uid": str(server.id), "labels": dict(server.labels)},
        "data": {"serverType": server.server_type, "location": server.location, "status": server.status},
    }
