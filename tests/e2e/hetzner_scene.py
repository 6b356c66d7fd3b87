"""A project of the fake Hetzner Cloud beside the control plane: its servers register Nodes, a real worker buys them."""

import asyncio
import base64
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path
from secrets import token_hex
from types import MappingProxyType
from typing import Any, Final

import yaml

from activities.kube.client import KubeCluster
from activities.ports.errors import GrowthError
from api.keys import ANNOTATION_PRICE
from simulator.hetzner.cloud import FakeHetzner
from simulator.hetzner.http import serve
from simulator.hetzner.nodes import HetznerNodes
from simulator.hetzner.project.project import CALLS
from simulator.hetzner.project.server import ServerRecord
from simulator.hetzner.project.state import DEFAULT, Durations
from simulator.hetzner.reply import Reply
from tests.builders import as_sent, hetzner_node_class, node_pool
from tests.e2e.api_server import Refused
from tests.e2e.cluster_view import NAMESPACE, OBJECTS, PLANNED_KINDS, ClusterView
from tests.e2e.commands import Commands
from tests.e2e.growth_process import GrowthProcess, TemporalServer
from tests.e2e.harness import ControlPlane
from tests.e2e.hetzner_secrets import assert_kept
from tests.e2e.scene import clear_workloads, scene

JOIN: Final = "hetzner-join"
"""The Secret with what a server needs to join."""
OF_CLASSES: Final = frozenset({"read_catalogue", "read_images", "read_networks", "read_firewalls", "read_ssh_keys"})
"""Calls that are made for classes, however many machines there are."""
_TOKEN_CHECK: Final = ("PUT", "/servers/0")
"""How a class finds out whether its token may write."""
_STEP_SECONDS: Final = 0.2
"""Between two looks of the kubelets."""
_LOOKED_UP_SECONDS: Final = 30
"""Within which a class is looked up: the worker looks for new ones every ten seconds."""


class CountedHetzner(FakeHetzner):
    """The fake cloud, which counts its answers by project."""

    def __init__(self) -> None:
        super().__init__(lambda: datetime.now(UTC))
        # A tenth of what they take in truth: the test's time is spent on what Growth does.
        self.durations = Durations(create_seconds=2.0, start_seconds=0.5, delete_seconds=1.0)
        self.answers: Counter[tuple[str, str, int]] = Counter()
        """By project, method with path, and HTTP status. Calls with an invalid token are of no project."""

    def handle(self, method: str, path: str, query: Sequence[tuple[str, str]], body: Any, token: str) -> Reply:
        """Answer a call: `FakeHetzner.handle`."""
        reply = super().handle(method, path, query, body, token)
        opened = self.access(token)
        self.answers["" if opened is None else opened[0].name, f"{method} {path}", reply.status] += 1
        return reply

    def count_of(self, project: str, *, what: str | None = None, status: int | None = None) -> int:
        """Return how many calls of a project were answered, of this method and path, with this status."""
        return sum(
            count
            for (of, call, answered), count in list(self.answers.items())
            if of == project and what in (None, call) and status in (None, answered)
        )

    def use_up_calls(self, token: str, project: str, *, per_second: float) -> None:
        """Let somebody else use up the calls of a project, of which so few come back."""
        self.set_rate_limit(CALLS, per_second=per_second, project=project)
        for _ in range(CALLS):
            # Not by `handle` of this class: these calls are not Growth's.
            assert super().handle("GET", "/locations", (), None, token).status == HTTPStatus.OK


class HetznerView(ClusterView):
    """What a test sees of the cluster and of its project.

    Args:
        plane: the control plane.
        cloud: may be other clusters' too.
        joins: whether a server is one of this cluster.
    """

    def __init__(self, plane: ControlPlane, cloud: FakeHetzner, joins: Callable[[ServerRecord], bool]) -> None:
        super().__init__(plane)
        self._cloud = cloud
        self._joins = joins

    def records(self) -> list[ServerRecord]:
        """Return the cluster's servers that exist in all projects, those being deleted included."""
        servers = (server for project in list(self._cloud.projects) for server in self._cloud.servers_of(project))
        return [server for server in servers if self._joins(server)]

    def servers(self) -> set[str]:
        """Return the names of these servers."""
        return {server.name for server in self.records()}

    def cost_per_hour(self) -> Decimal:
        """Return the price of our Nodes, as they say it themselves."""
        return sum((paid(node) for node in self.nodes().values()), Decimal(0))

    def types(self) -> Counter[str]:
        """Return how many of our Nodes there are of each server type."""
        return Counter(node["metadata"]["labels"]["growth.dev/server-type"] for node in self.nodes().values())


def paid(node: dict[str, Any]) -> Decimal:
    """Return the price per hour that a Node says."""
    return Decimal(node["metadata"]["annotations"][ANNOTATION_PRICE])


@dataclass
class HetznerScene:
    """A worker, the cluster, and the fake cloud."""

    plane: ControlPlane
    cloud: CountedHetzner
    growth: GrowthProcess
    view: HetznerView
    commands: Commands
    folder: Path
    marker: str
    """In the user data of this cluster's servers, and of nobody else's."""
    secrets: list[str] = field(default_factory=list)
    """Texts that may stand in Secrets only."""
    external: bool = False
    """Servers leave their provider id to a cloud-controller-manager."""

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects."""
        self.plane.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def add_project(self, name: str = DEFAULT, *, access: str = "read_write") -> dict[str, str]:
        """Make a token for a project, and return the reference to the Secret that holds it."""
        token = token_hex(32)
        self.secrets.append(token)
        if access != "none":
            self.cloud.add_token(token, "read_only" if access == "read_only" else "read_write", project=name)
        secret = f"hetzner-{name}-{access}".replace("_", "-")
        # Not applied: kubectl would note the last applied text in an annotation.
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(_secret(secret, token=token)))
        return {"namespace": NAMESPACE, "name": secret}

    def add_class(self, name: str, token: dict[str, str], **fields: Any) -> None:
        """Create a class with the user data of this scene; `fields` of its spec come before the usual ones."""
        user_data = {
            "secretKeyRef": {"namespace": NAMESPACE, "name": JOIN, "key": "text"},
            "variables": {"join": {"secretKeyRef": {"namespace": NAMESPACE, "name": JOIN, "key": "token"}}},
        }
        spec = {
            "tokenSecretRef": token,
            "image": {"name": "debian-12"},
            "locations": ["fsn1", "nbg1"],
            "userData": user_data,
        }
        self.apply(as_sent(hetzner_node_class(name, **spec | fields)))

    def add_join_secret(self) -> None:
        """Create the Secret with the text of the user data and the token in it."""
        join, marker = token_hex(24), self.marker
        self.secrets += [join, marker]
        identity = "--cloud-provider=external" if self.external else "--provider-id=hcloud://$ID"
        text = f"#!/bin/sh\n# {marker}\nJOIN={{{{ join }}}}\nkubelet {identity} {{{{ kubelet.args }}}}\n"
        self.plane.kubectl("create", "-f", "-", stdin=json.dumps(_secret(JOIN, text=text, token=join)))

    def node_class(self, name: str = "default") -> dict[str, Any]:
        """Return a class."""
        found = self.plane.api.get("hetznernodeclasses", name)
        assert found is not None
        return found

    def condition(self, name: str, kind: str = "Ready") -> dict[str, Any]:
        """Return a condition of a class, empty if it has none of its present generation."""
        found = self.node_class(name)
        return next(
            (
                each
                for each in found.get("status", {}).get("conditions", ())
                if each["type"] == kind and each["observedGeneration"] == found["metadata"]["generation"]
            ),
            {},
        )

    def wait_looked_up(self, name: str = "default") -> None:
        """Wait until the class is Ready."""
        self.plane.wait_for(
            lambda: self.condition(name).get("status") == "True", f"class {name} is Ready", _LOOKED_UP_SECONDS
        )

    def wait_running(self, count: int, seconds: float = 60) -> None:
        """Wait until so many pods run."""
        self.plane.wait_for(lambda: self.view.running() == count, f"{count} pods run", seconds)

    def planned(self, *further: dict[str, Any]) -> dict[str, Any]:
        """Return what `growth plan` says about a dump of the cluster with further objects."""
        items = [item for kind in PLANNED_KINDS for item in self.view.items(kind)] + list(further)
        dump = self.folder / "dump.json"
        dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        return json.loads(self.commands.told("plan", "-f", str(dump), "-o", "json"))

    def calls(self) -> Counter[str]:
        """Return how many calls were made, by what they do."""
        return Counter(str(each.verb) for each in list(self.cloud.requests))

    def machine_calls(self) -> int:
        """Return how many calls were made for machines."""
        made = [each for each in list(self.cloud.requests) if each.verb not in OF_CLASSES]
        return sum((each.method, each.path) != _TOKEN_CHECK for each in made)


def pool(name: str, server_types: list[str], *, kind: str = "HetznerNodeClass", **fields: Any) -> dict[str, Any]:
    """Return a pool that buys of the class of its own name."""
    usual = {
        "template": {"classRef": {"kind": kind, "name": name}},
        "limits": {"max": 20},
        "scaleDown": {"idleAfter": "1h"},
    }
    return as_sent(node_pool(name, server_types, **usual | fields))


def pool_of_file() -> dict[str, Any]:
    """Return the pool of the round trip."""
    return yaml.safe_load((OBJECTS / "hetzner_pool.yaml").read_text())


@contextmanager
def hetzner_scene(
    plane: ControlPlane,
    folder: Path,
    *,
    cluster: str,
    controller_delay_seconds: float | None = None,
    objects: tuple[str, ...] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
    quick: bool = False,
    cloud: CountedHetzner | None = None,
) -> Iterator[HetznerScene]:
    """Lend a worker that is not started yet, a cloud with an empty project, and the Secret of the user data.

    At the end of a scene that went well, no secret may stand anywhere but in Secrets.

    Args:
        plane: the control plane.
        folder: for logs and files.
        cluster: name of the cluster.
        controller_delay_seconds: how late Hetzner's cloud-controller-manager sees a Node; None: there is none.
        objects: files of objects that are there from the beginning.
        environment: further variables of the worker.
        quick: the worker's durations are a tenth as long.
        cloud: of another scene, when two clusters share a project.
    """
    cloud, marker = cloud or CountedHetzner(), f"marker-{token_hex(16)}"

    def joins(server: ServerRecord) -> bool:
        return marker in server.user_data

    temporal = TemporalServer(folder)
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(_namespace()))
    with (
        serve(cloud) as endpoint,
        scene(
            plane,
            folder,
            cluster=cluster,
            temporal=temporal,
            objects=objects,
            environment={"GROWTH_HCLOUD_ENDPOINT": endpoint, **environment},
            quick=quick,
        ) as growth,
        kubelets(plane, cloud, controller_delay_seconds, joins) as check,
    ):
        lent = HetznerScene(
            plane, cloud, growth, HetznerView(plane, cloud, joins), Commands(plane, folder), folder, marker,
            external=controller_delay_seconds is not None,
        )  # fmt: skip
        try:
            lent.add_join_secret()
            yield lent
            check()
            assert_kept(plane, growth, temporal.address, lent.secrets)
        except BaseException:
            print(f"calls: {dict(lent.calls())}")
            raise
        finally:
            _let_go(plane)
            plane.api.delete_all("secrets", NAMESPACE)


@contextmanager
def kubelets(
    plane: ControlPlane,
    cloud: FakeHetzner,
    delay: float | None,
    joins: Callable[[ServerRecord], bool] = lambda _server: True,
) -> Iterator[Callable[[], None]]:
    """Let those of the cloud's servers that join this cluster register Nodes from a thread.

    Yields what raises if that has ended.
    """
    is_over = threading.Event()

    async def run() -> None:
        cluster = await KubeCluster.connect(str(plane.kubeconfig))
        nodes = HetznerNodes(
            cloud,
            cluster,
            now=lambda: datetime.now(UTC),
            join_seconds=1.0,
            controller=delay is not None,
            controller_delay_seconds=delay or 0.0,
            joins=joins,
        )
        try:
            while not is_over.is_set():
                with suppress(GrowthError):
                    await nodes.step()
                await asyncio.sleep(_STEP_SECONDS)
        finally:
            await cluster.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="kubelets", daemon=True)
    thread.start()

    def check() -> None:
        assert thread.is_alive(), "the kubelets of the fake cloud have died"

    try:
        yield check
    finally:
        is_over.set()
        thread.join(10)


def _let_go(plane: ControlPlane) -> None:
    """Let records go at once: Growth itself keeps that of a machine that is gone for a minute from the purchase on."""
    clear_workloads(plane)
    plane.api.delete_all("nodepools")
    plane.api.wait_gone("nodepools")
    plane.api.delete_all("noderequests")
    for request in plane.api.items("noderequests"):
        # One that has gone by itself meanwhile is as well.
        with suppress(Refused):
            plane.api.patch("noderequests", request["metadata"]["name"], {"metadata": {"finalizers": None}})


def _namespace() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _secret(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }
