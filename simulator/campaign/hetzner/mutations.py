"""Faults planted in the provider of Hetzner's servers, to show that histories with it find such faults."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from activities.objects import nodes
from activities.ports.errors import InsufficientCapacity, UnknownOutcome
from activities.providers.hetzner import provider
from activities.providers.hetzner.api import answer, error_table
from activities.providers.hetzner.api.client import HetznerClient
from activities.providers.hetzner.api.facts import ActionFacts
from activities.providers.hetzner.servers import actions as pending
from activities.providers.hetzner.servers import limits, unfinished
from activities.providers.hetzner.servers import listing as servers
from activities.providers.hetzner.servers.creation import Creator
from activities.providers.hetzner.servers.listing import ServerList
from activities.removals import look as removals_look
from activities.removals import server as removals_server
from activities.requests import failed_purchase
from activities.requests import look as requests_look
from simulator.campaign.mutations.planting import Change, Mutation


def _repeated_under_another_name() -> list[Change]:
    """After a create call of unknown outcome, ask for a server of another name instead of looking."""
    real = Creator.create

    async def create(self: Creator, project: Any, node_class: Any, wanted: Any) -> Any:
        try:
            return await real(self, project, node_class, wanted)
        except UnknownOutcome:
            return await real(self, project, node_class, replace(wanted, name=f"{wanted.name}-x"))

    return [(Creator, "create", create)]


def _errors_are_refusals() -> list[Change]:
    """Take it that a call that failed within Hetzner has made nothing."""
    wrong: dict[str, Any] = dict.fromkeys(
        ("server_error", "service_error", "unavailable", "timeout"), InsufficientCapacity
    )
    return [(error_table, "_TABLE", _table(wrong))]


def _silence_is_a_refusal() -> list[Change]:
    """Take it that a call without an answer has made nothing."""
    return [(answer, "UnknownOutcome", InsufficientCapacity)]


def _table(wrong: dict[str, Any]) -> dict[str, Any]:
    real: dict[str, Any] = error_table._TABLE  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return {**real, **{code: (kind, "") for code, kind in wrong.items()}}


def _never_started() -> list[Change]:
    """Attach stopped servers to their subnets, and leave it at that."""

    async def power_on(_self: HetznerClient, server_id: int) -> ActionFacts:
        return ActionFacts(id=server_id, command="start_server", status="success", progress=100)

    return [(HetznerClient, "power_on", power_on)]


def _started_unattached() -> list[Change]:
    return [(unfinished, "attachments", lambda _labels: ())]


def _off_is_broken() -> list[Change]:
    """Take a server that was made stopped for one that somebody has switched off."""
    return [(provider, "is_unfinished", lambda *_: False)]


def _gone_when_asked() -> list[Change]:
    """Take a delete call's yes for the end of the server."""
    real = ServerList.find

    async def find(self: ServerList, name: str) -> Any:
        server = await real(self, name)
        return None if server is not None and server.status == "deleting" else server

    return [(ServerList, "find", find)]


def _each_look_is_a_call() -> list[Change]:
    return [(servers, "LISTED_FOR_SECONDS", 0.0), (pending, "POLL_SECONDS", 0.0)]


def _token_told() -> list[Change]:
    """Tell what Hetzner says as it is."""
    return [(answer, "redacted", lambda text, _secrets: text)]


def _limits_stop_all() -> list[Change]:
    """Let whatever is limited stop all that a class offers."""
    return [(limits.Reach, "extent", lambda _self, _node_class: None)]


def _refusals_stop_others() -> list[Change]:
    """Take each call to a project for one that is refused for what another one was refused for."""
    return [(limits.Reach, "covers", lambda _self, _creation: True)]


def _node_known_by_its_id_alone() -> list[Change]:
    """Take a Node for its server's only if it names that server by the server's own id, or none."""

    def is_of(node: Any, *, request_uid: str | None, provider_id: str | None) -> bool:
        marks = nodes.marks_of(node)
        is_another = marks.request_uid and request_uid and marks.request_uid != request_uid
        return not is_another and (not marks.provider_id or marks.provider_id == provider_id)

    return [(requests_look, "is_of", is_of), (removals_look, "is_of", is_of)]


def _removal_goes_by_the_nodes_id() -> list[Change]:
    """Look for the server by what its Node names, whatever scheme that is of."""
    real = removals_look.is_ours

    def is_ours(ports: Any, removal: Any, server: Any, node: Any) -> bool:
        wanted = removal.spec.provider_id
        return real(ports, removal, server, node) and wanted in (None, server.provider_id)

    return [(removals_look, "is_ours", is_ours), (removals_server, "is_ours", is_ours)]


def _failures_are_not_counted() -> list[Change]:
    return [(failed_purchase, "MOST_FAILED", 10**6)]


def _certain_refusals_are_doubted() -> list[Change]:
    """Take a refusal in Hetzner's own words, with a code that nobody knows, for a call of unknown outcome."""
    return [(error_table, "_is_certain", lambda _code, _status: False)]


def _failed_actions_are_not_read() -> list[Change]:
    """Let whatever a failed action says mean nothing in particular."""

    def of_action(code: str, message: str, *, call: str) -> UnknownOutcome:
        return UnknownOutcome(f"{call}: {message} ({code})")

    return [(pending, "of_action", of_action)]


_hetzner: Final = partial(Mutation, provider="hetzner")

HETZNER_MUTATIONS: Final = (
    _hetzner("a create call without an answer is repeated under another name", _repeated_under_another_name, within=40),
    _hetzner("an error of Hetzner's is taken for a refusal", _errors_are_refusals, first=20, within=60),
    _hetzner("no answer of Hetzner's is taken for a refusal", _silence_is_a_refusal, within=40),
    _hetzner("stopped servers are never started", _never_started, within=60),
    _hetzner("stopped servers are started without their network", _started_unattached),
    _hetzner("servers that were made stopped count as switched off", _off_is_broken, first=6, within=60),
    _hetzner("a server is taken for gone when its deletion was asked for", _gone_when_asked),
    _hetzner("each look at a server is a call", _each_look_is_a_call),
    _hetzner("a limit of one type pauses its whole class", _limits_stop_all, first=20, within=60),
    _hetzner("calls are refused for what limits others", _refusals_stop_others, first=20, within=60),
    _hetzner("a Node is known by its server's id alone", _node_known_by_its_id_alone),
    _hetzner("a removal goes by the id that its Node names", _removal_goes_by_the_nodes_id, within=40),
    _hetzner("purchases that fail are repeated for ever", _failures_are_not_counted, first=214, within=1),
    _hetzner("a certain refusal is taken for an unknown outcome", _certain_refusals_are_doubted, first=16, within=6),
    _hetzner("failed actions are not read by the table", _failed_actions_are_not_read, first=18, within=6),
    _hetzner("Hetzner's messages are told with the token in them", _token_told, within=100),
)
