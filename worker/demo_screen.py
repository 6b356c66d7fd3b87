"""How the demo looks on a terminal, and in a log file."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from activities.cluster import Object
from activities.providers.base import Server
from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from simulator.conditions import condition_status
from simulator.pod_request import amounts, occupied, pod_request
from simulator.view import View
from worker.demo_scene import CURRENCY_SIGN

_WIDTH_WITHOUT_TERMINAL = 110
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Bill:
    """What the summary says."""

    placed: int
    bought: int
    removed: int
    cost_per_hour: Decimal
    lower_bound_per_hour: Decimal
    seconds: float


class Screen:
    """Prints stages and tables.

    Args:
        prices: per hour, by server type.
        console: where to; without one, standard output.
    """

    def __init__(self, prices: Mapping[str, Decimal], console: Console | None = None) -> None:
        console = console or Console(highlight=False)
        if not console.is_terminal:
            # A file has no width; a narrow guess would cut names and sentences.
            console = Console(file=console.file, highlight=False, width=_WIDTH_WITHOUT_TERMINAL)
        self._console = console
        self._prices = prices
        self._stage = 0

    def title(self) -> None:
        """Say what this is."""
        self._console.print("[bold]Growth demo[/]: a simulated cluster, simulated machines, the real Temporal server")
        self._console.print("No cluster, no token, nothing is bought.\n")

    def note(self, text: str) -> None:
        """Print one line."""
        self._console.print(text, soft_wrap=True)

    def stage(self, text: str) -> None:
        """Begin a stage."""
        self._stage += 1
        self._console.print(f"\n[bold cyan]{self._stage}. {text}[/]")

    def failure(self, text: str) -> None:
        """Say what went wrong."""
        self._console.print(f"\n[bold red]The demo failed[/] {text}", soft_wrap=True)

    def pods(self, view: View) -> None:
        """Print the pods by workload."""
        table = Table("workload", box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("pods", "cpu each", "memory each", "waiting", "running"):
            table.add_column(heading, justify="right")
        for name, pods in _workloads(view).items():
            request = pod_request(pods[0])
            states = Counter(p["status"].get("phase") for p in pods)
            table.add_row(
                name,
                str(len(pods)),
                f"{request['cpu'] / 1000:g}",
                f"{request['memory'] / _GIB:g} GiB",
                str(states["Pending"]),
                str(states["Running"]),
            )
        self._console.print(table)

    def machines(self, view: View) -> None:
        """Print the machines with their pods, load, state and price."""
        table = Table("machine", "type", "state", box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for heading in ("pods", "cpu used", "memory used", f"{CURRENCY_SIGN} per hour"):
            table.add_column(heading, justify="right")
        placement = view.placement()
        for name, server in sorted(view.servers.items()):
            node = view.nodes.get(name)
            here = [pod for key, pod in view.pods.items() if placement[key] == name]
            load = [_share(here, node, resource) for resource in ("cpu", "memory")]
            own = sum(not is_daemon(pod) for pod in here)
            table.add_row(
                name,
                f"{server.server_type} {server.location}",
                _state(node),
                str(own),
                *load,
                str(self._price(server)),
            )
        self._console.print(table)
        self.totals(view)

    def totals(self, view: View) -> None:
        """Print one line on pods, machines and price."""
        pods = [pod for pods in _workloads(view).values() for pod in pods]
        running = sum(pod["status"].get("phase") == "Running" for pod in pods)
        price = self.cost(view)
        machines = f"{len(view.servers)} machine{'' if len(view.servers) == 1 else 's'}"
        self._console.print(f"[bold]{running} of {len(pods)} pods run · {machines} · {CURRENCY_SIGN}{price}/h[/]")

    def cost(self, view: View) -> Decimal:
        """Return what all servers cost per hour."""
        return sum((self._price(server) for server in view.servers.values()), Decimal(0))

    def summary(self, bill: Bill) -> None:
        """Print the end."""
        bound = bill.lower_bound_per_hour
        gap = (bill.cost_per_hour / bound - 1) * 100
        self.stage("Summary")
        self._console.print(
            f"{bill.placed} pods placed, each on the machine planned for it; "
            f"{bill.bought} machines bought, {bill.removed} removed, none left at the provider.\n"
            f"Cost at the peak {CURRENCY_SIGN}{bill.cost_per_hour}/h; no plan can cost less than "
            f"{CURRENCY_SIGN}{bound:.4f}/h (at most {gap:.1f} % above the best).\n"
            f"Took {bill.seconds:.0f} s.",
            soft_wrap=True,
        )

    def _price(self, server: Server) -> Decimal:
        return self._prices[server.server_type]


def _workloads(view: View) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for pod in view.pods.values():
        if not is_daemon(pod):
            found.setdefault(pod["metadata"]["labels"]["app"], []).append(pod)
    return found


def is_daemon(pod: Object) -> bool:
    """Whether the pod belongs to a DaemonSet: it comes and goes with its node."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences") or ())


def _share(pods: list[Object], node: Object | None, resource: str) -> str:
    if node is None:
        return "-"
    room = amounts(node["status"]["allocatable"])[resource]
    return f"{float(Fraction(100 * occupied(pods).get(resource, 0), room)):.0f} %"


def _state(node: Object | None) -> str:
    if node is None:
        return "boots"
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    if condition_status(node, "Ready") != "True" or TAINT_UNREGISTERED in taints:
        return "joins"
    if TAINT_SCALE_DOWN in taints:
        return "cools off"
    return "reserved" if TAINT_RESERVED in taints else "ready"
