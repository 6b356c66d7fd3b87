"""The demo's cluster for commands in other terminals: they read it as they read any, by a kubeconfig."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from typing import Final

from starlette.applications import Starlette

from activities.ports.cluster import CONFIG_MAPS, CRDS, EVENTS, NAMESPACES
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.apiserver.http import application
from simulator.view import View
from simulator.world import CLUSTER_NAME, World
from worker.demo.screen import Screen
from worker.demo.watch import own_pods
from worker.ports import watched
from worker.runtime.web import listen
from worker.settings import PREFIX

PROGRAM: Final = "growth"
_NAME: Final = "growth-demo"
"""Of context, cluster and user in the kubeconfig."""
_MISLEADING: Final = ("CONTEXT", "TEMPORAL_NAMESPACE", "TEMPORAL_TLS", "TEMPORAL_API_KEY")
"""Settings of whoever has a real cluster, too: with them, commands would not look here."""

_DEEDS: Final[Mapping[str, Mapping[str, str]]] = {
    RemovalPhase.PENDING: {"cancel": "it stays, and nothing removes it by itself for an hour"},
    RemovalPhase.COULD_NOT_REMOVE: {"skip": "treat its server as gone"},
}
"""What a person may do about a removal, and what comes of it, by phase."""


def api(world: World) -> Starlette:
    """Return the API of the demo's cluster."""
    return application(world.cluster, {*watched(), EVENTS, NAMESPACES, CRDS, CONFIG_MAPS})


@contextmanager
def kubeconfig(folder: Path) -> Iterator[tuple[socket, Path]]:
    """Lend a socket that listens on loopback and a kubeconfig in the folder that leads there.

    Raises:
        OSError: there is no port, or the folder cannot be written.
    """
    with listen("127.0.0.1:0") as listener:
        file = folder / "kubeconfig"
        entry = {"cluster": _NAME, "user": _NAME}
        server = f"http://127.0.0.1:{listener.getsockname()[1]}"
        # YAML has all of JSON in it.
        file.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": _NAME, "cluster": {"server": server}}],
                    "users": [{"name": _NAME, "user": {}}],
                    "contexts": [{"name": _NAME, "context": entry}],
                    "current-context": _NAME,
                },
                indent=2,
            )
        )
        yield listener, file


def invite(screen: Screen, view: View, file: Path, address: str, ui: str) -> None:
    """Say how to look and what to try, in another terminal; what happens then is told below.

    Args:
        screen: at rest.
        view: what is there.
        file: the kubeconfig.
        address: of the Temporal server.
        ui: URL of its UI.
    """
    cleared = [f"{PREFIX}{name}=" for name in _MISLEADING if os.environ.get(f"{PREFIX}{name}")]
    exported = [
        f"{PREFIX}KUBECONFIG={shlex.quote(str(file))}",
        f"{PREFIX}CLUSTER={CLUSTER_NAME}",
        f"{PREFIX}TEMPORAL_ADDRESS={address}",
        *cleared,
    ]
    screen.note(f"\nLook into the Temporal UI: {ui}\nand in another terminal:")
    called = Path(sys.argv[0])
    if shutil.which(PROGRAM) is None and called.name == PROGRAM:
        screen.command(f"alias {PROGRAM}={shlex.quote(str(called.absolute()))}")
    screen.command(f"export {' '.join(exported)}")
    screen.command(f"{PROGRAM} status")
    for pod in own_pods(view):
        screen.command(f"{PROGRAM} why pod {pod['metadata']['namespace']}/{pod['metadata']['name']}")
    screen.command(f"{PROGRAM} removals list")
    for name in view.removals:
        screen.command(f"{PROGRAM} why node {name}")
        for deed, meaning in _DEEDS.get(view.removal_phase(name), {}).items():
            screen.command(f"{PROGRAM} removals {deed} {name}   # {meaning}")
    screen.note("What happens is told here. Ctrl-C ends it and removes everything.")
