"""The demo's tables: pods by workload, and machines with what is on them."""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from rich.table import Table

from activities.ports.cluster import Object
from activities.ports.provider import Server
from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.scheduling.conditions import condition_status
from simulator.scheduling.pod_request import amounts, occupied, pod_request
from simulator.view import View
from worker.demo.scene import CURRENCY_SIGN

_GIB = 2**30


def plain(*left: str, right: tuple[str, ...] = ()) -> Table:
    """Return a table without lines: columns of text, then columns of numbers."""
    table = Table(*left, box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in right:
        table.add_column(heading, justify="right")
    return table


def is_daemon(pod: Object) -> bool:
    """Whether the pod belongs to a DaemonSet: it comes and goes with its node."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def pods_table(view: View) -> Table:
    """Return the pods by workload."""
    table = plain("workload", right=("pods", "cpu each", "memory each", "waiting", "running"))
    for name, pods in workloads_of(view).items():
        request = pod_request(pods[0])
        states = Counter(pod["status"].get("phase") for pod in pods)
        table.add_row(
            name,
            str(len(pods)),
            f"{request['cpu'] / 1000:g}",
            f"{request['memory'] / _GIB:g} GiB",
            str(states["Pending"]),
            str(states["Running"]),
        )
    return table


def machines_table(view: View, prices: Mapping[str, Decimal]) -> Table:
    """Return the machines with their state, pods, load and price."""
    table = plain("machine", "type", "state", right=("pods", "cpu used", "memory used", f"{CURRENCY_SIGN} per hour"))
    placement = view.placement()
    for name, server in sorted(view.servers.items(), key=lambda item: (-prices[item[1].server_type], item[0])):
        node = view.nodes.get(name)
        here = [pod for key, pod in view.pods.items() if placement[key] == name]
        table.add_row(
            name,
            f"{server.server_type} {server.location}",
            _state(server, node, view),
            str(sum(not is_daemon(pod) for pod in here)),
            *(_share(here, node, resource) for resource in ("cpu", "memory")),
            str(prices[server.server_type]),
        )
    return table


def cost(view: View, prices: Mapping[str, Decimal]) -> Decimal:
    """Return the price of all servers per hour."""
    return sum((prices[server.server_type] for server in view.servers.values()), Decimal(0))


def totals(view: View, prices: Mapping[str, Decimal]) -> str:
    """Return one line on pods, machines and price."""
    pods = [pod for pods in workloads_of(view).values() for pod in pods]
    running = sum(pod["status"].get("phase") == "Running" for pod in pods)
    machines = f"{len(view.servers)} machine{'' if len(view.servers) == 1 else 's'}"
    return f"{running} of {len(pods)} pods run · {machines} · {CURRENCY_SIGN}{cost(view, prices)}/h"


def workloads_of(view: View) -> dict[str, list[Object]]:
    """Return the pods of the load by workload."""
    by_workload: dict[str, list[Object]] = {}
    for pod in view.pods.values():
        if not is_daemon(pod):
            by_workload.setdefault(pod["metadata"]["labels"]["app"], []).append(pod)
    return by_workload


def _share(pods: list[Object], node: Object | None, resource: str) -> str:
    if node is None:
        return "-"
    room = amounts(node["status"]["allocatable"])[resource]
    return f"{float(Fraction(100 * occupied(pods).get(resource, 0), room)):.0f} %"


def _state(server: Server, node: Object | None, view: View) -> str:
    phase = view.removal_phase(server.name)
    if phase == RemovalPhase.COULD_NOT_REMOVE:
        return "parked"
    if phase == RemovalPhase.DEPROVISIONING:
        return "goes"
    if phase == RemovalPhase.DRAINING:
        return "drains"
    if node is None:
        return "boots"
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    if condition_status(node, "Ready") != "True" or TAINT_UNREGISTERED in taints:
        return "joins"
    if TAINT_SCALE_DOWN in taints:
        return "cools off"
    return "reserved" if TAINT_RESERVED in taints else "ready"
