"""Actions that follow each other on a server: each begins when the one before has succeeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from simulator.hetzner.faults import About
from simulator.hetzner.project.project import FakeProject
from simulator.hetzner.project.resources import Network
from simulator.hetzner.project.server import FakeServer, ServerAction
from simulator.hetzner.project.state import State
from simulator.hetzner.reply import ApiRefusal


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Step:
    """One action and what it does to its server."""

    command: str
    seconds: float
    done: Callable[[], None]
    """When it has succeeded."""
    begin: Callable[[], None] = _nothing
    failed: Callable[[], None] = _nothing
    resources: tuple[tuple[str, int], ...] = ()
    error: tuple[str, str] | None = None
    """Code and message, if it fails by itself."""


def start(
    state: State, project: FakeProject, server: FakeServer, about: About, steps: Sequence[Step]
) -> list[ServerAction]:
    """Let the steps run one after the other, with the faults that the call meets, and return their actions.

    When one fails, those behind it fail with its error.
    """
    now = state.timeline.now
    actions: list[ServerAction] = []
    faulty: list[tuple[Step, ServerAction, tuple[str, str] | None]] = []
    for number, step in enumerate(steps):
        is_first = number == 0
        slow = state.faults.meet_action(about, step.command, is_first=is_first, kind="slow_action")
        bad = state.faults.meet_action(about, step.command, is_first=is_first, kind="action_error")
        action = ServerAction(
            id=state.next_id(),
            command=step.command,
            server=server.id,
            started=now,
            seconds=slow.seconds if slow else step.seconds,
            resources=step.resources,
        )
        actions.append(action)
        server.actions.append(action)
        project.actions[action.id] = action
        faulty.append((step, action, (bad.code, bad.message or bad.code) if bad else step.error))
    _run(state, faulty)
    return actions


def _run(state: State, steps: Sequence[tuple[Step, ServerAction, tuple[str, str] | None]]) -> None:
    if not steps:
        return
    (step, action, error), rest = steps[0], steps[1:]
    action.began = state.timeline.now
    step.begin()

    def end() -> None:
        action.finished = state.timeline.now
        if error is None:
            step.done()
            _run(state, rest)
            return
        action.error = error
        step.failed()
        for _, later, _ in rest:
            later.finished = state.timeline.now
            later.error = error

    if action.seconds <= 0:
        end()
    else:
        state.timeline.at(state.timeline.now + timedelta(seconds=action.seconds), end)


def start_step(state: State, server: FakeServer) -> Step:
    """Return the step that starts the server."""

    def begin() -> None:
        server.status = "starting"

    def done() -> None:
        server.status = "running"
        server.running_since = state.timeline.now

    def failed() -> None:
        server.status = "off"

    return Step("start_server", state.durations.start_seconds, done, begin, failed)


def attach_step(state: State, network: Network, server: FakeServer, zone: str, ip_range: str | None) -> Step:
    """Return the step that attaches the server to the network, with an address that is its own from now on.

    Raises:
        Refusal: there is no free address.
    """
    if network.tells_late and network.free_address(zone, ip_range) is None:
        return Step(
            "attach_to_network",
            state.durations.attach_seconds,
            _nothing,
            resources=(("network", network.id),),
            error=("ip_not_available", f"network {network.name} has no free address"),
        )
    address = check_address(network, zone, ip_range)
    network.members[server.id] = address

    def done() -> None:
        server.networks[network.id] = address

    def failed() -> None:
        network.members.pop(server.id, None)

    return Step(
        "attach_to_network", state.durations.attach_seconds, done, failed=failed, resources=(("network", network.id),)
    )


def check_address(network: Network, zone: str, ip_range: str | None = None) -> str:
    """Return an address of the network that a server of the zone can have.

    Raises:
        Refusal: there is none.
    """
    address = network.free_address(zone, ip_range)
    if address is None:
        raise ApiRefusal(HTTPStatus.CONFLICT, "ip_not_available", f"network {network.name} has no free address")
    return address
