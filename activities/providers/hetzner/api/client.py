"""Hetzner's API, call by call: the only file that imports hcloud.

Each call is made once: hcloud would repeat even the one that creates a server after its answer was lost. Its
models are not used either, as they make further calls behind the reader's back.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import requests
from hcloud import APIException, Client
from pydantic import SecretStr
from requests.adapters import BaseAdapter

from activities.ports.errors import InvalidConfiguration, NotFound
from activities.ports.ports import Compute
from activities.providers.hetzner.api import reading
from activities.providers.hetzner.api.answer import UNREADABLE, ApiResponse, cause, unreadable
from activities.providers.hetzner.api.budget import CallBudget
from activities.providers.hetzner.api.connection import Connection
from activities.providers.hetzner.api.facts import (
    ActionFacts,
    Architecture,
    CreatedServer,
    GroupFacts,
    ImageFacts,
    LocationFacts,
    NamedFacts,
    NetworkFacts,
    PriceFacts,
    ServerCreation,
    ServerFacts,
    TypeFacts,
)
from activities.providers.hetzner.api.redaction import redacted, token_secret

_ACTIONS_PER_CALL: Final = 25
"""Ids that fit into one address, as Hetzner's own Go client has it."""
_ALREADY_ATTACHED: Final = "server_already_attached"
_NO_SERVER: Final = "/servers/0"
"""Ids begin with 1."""


class HetznerClient:
    """The API with one token. Every call may raise the `ProviderError`s of `activities.ports.errors`.

    Args:
        token: of the project.
        endpoint: of the API, such as https://api.hetzner.cloud/v1.
        budget: of the project; each request spends one token of it.
        compute: runs a blocking request.
        transport: of HTTP; None is the network.
        timeout_seconds: for the connection, and for each wait for a part of the answer.
    """

    def __init__(
        self,
        token: SecretStr,
        *,
        endpoint: str,
        budget: CallBudget,
        compute: Compute = asyncio.to_thread,
        transport: BaseAdapter | None = None,
        timeout_seconds: float = 20.0,
    ) -> None:
        secret = token.get_secret_value()
        self._token = token_secret(secret)
        self._requests = _Requests(secret, endpoint.rstrip("/"), transport, timeout_seconds)
        self._connection = Connection(self._requests, token=self._token, budget=budget, compute=compute)

    def close(self) -> None:
        """Close all connections."""
        self._requests.session.close()

    async def server(self, name: str) -> ServerFacts | None:
        """Return the server of that name, read live, or None."""
        servers = await self._connection.list("servers", reading.server, f"get server {name}", {"name": name})
        return next((server for server in servers if server.name == name), None)

    async def servers(self, selector: str) -> list[ServerFacts]:
        """Return all servers that the label selector accepts."""
        return await self._connection.list("servers", reading.server, "list servers", {"label_selector": selector})

    async def create_server(
        self, creation: ServerCreation, *, before: Callable[[], None] = lambda: None
    ) -> CreatedServer:
        """Ask for a server, and return it as it begins to be made.

        Args:
            creation: what to ask for.
            before: called when all waits are over. What it raises is raised, and nothing is asked for.

        Raises:
            NameInUse: a server of that name exists.
            GroupFull: the placement group takes no more; certain that nothing was created.
            CannotSpread: no host apart from the group's others is free; certain that nothing was created.
            UnknownOutcome: it may have been created.
            ProviderError: of any other kind: certain that nothing was created.
        """
        networks = "".join(f", network {network}" for network in creation.networks)
        call = f"create server {creation.name} ({creation.server_type} in {creation.location}{networks})"
        answer = await self._connection.send("POST", "/servers", json=reading.creation_body(creation), before=before)
        return self._connection.understood(answer, self._created, "create", call, user_data=creation.user_data)

    async def delete_server(self, server_id: int) -> ActionFacts | None:
        """Ask for deletion, and return the action; None when the server does not exist.

        Raises:
            Protected: a person has protected it.
            Locked: something else is being done to it.
        """
        answer = await self._connection.send("DELETE", f"/servers/{server_id}")
        try:
            return self._connection.understood(answer, self._action, "delete", f"delete server {server_id}")
        except NotFound:
            return None

    async def set_labels(self, server_id: int, labels: Mapping[str, str]) -> None:
        """Replace all labels of a server.

        Raises:
            NotFound: it does not exist.
            Locked: something else is being done to it.
        """
        answer = await self._connection.send("PUT", f"/servers/{server_id}", json={"labels": dict(labels)})
        self._connection.understood(answer, _nothing, "write", f"label server {server_id}")

    async def attach_to_network(self, server_id: int, network: int, ip_range: str | None) -> ActionFacts | None:
        """Attach a server to a network, with an address of that range if one is given.

        Returns:
            The action, or None when the server is attached already.

        Raises:
            SubnetFull: the range has no free address.
            Locked: something else is being done to it.
        """
        subnet = f" ({ip_range})" if ip_range else ""
        call = f"attach server {server_id} to network {network}{subnet}"
        wanted = {"network": network} | ({"ip_range": ip_range} if ip_range else {})
        answer = await self._connection.send("POST", f"/servers/{server_id}/actions/attach_to_network", json=wanted)
        if answer.code == _ALREADY_ATTACHED:
            return None
        return self._connection.understood(answer, self._action, "write", call)

    async def power_on(self, server_id: int) -> ActionFacts:
        """Start a server that is off.

        Raises:
            Locked: something else is being done to it.
        """
        answer = await self._connection.send("POST", f"/servers/{server_id}/actions/poweron")
        return self._connection.understood(answer, self._action, "write", f"start server {server_id}")

    async def actions(self, ids: Sequence[int]) -> list[ActionFacts]:
        """Return the actions of these ids, as far as they exist."""
        actions: list[ActionFacts] = []
        for start in range(0, len(ids), _ACTIONS_PER_CALL):
            wanted = list(ids[start : start + _ACTIONS_PER_CALL])
            actions += await self._connection.list("actions", reading.action, "look at actions", {"id": wanted})
        return [self._without_secrets(action) for action in actions]

    async def placement_groups(self, selector: str) -> list[GroupFacts]:
        """Return all placement groups that the label selector accepts."""
        return await self._connection.list(
            "placement_groups", reading.group, "list placement groups", {"label_selector": selector}
        )

    async def create_placement_group(self, name: str, labels: Mapping[str, str]) -> GroupFacts:
        """Make a placement group that keeps servers apart.

        Raises:
            NameInUse: a group of that name exists.
            QuotaExceeded: the project has as many as it may.
        """
        wanted = {"name": name, "type": "spread", "labels": dict(labels)}
        answer = await self._connection.send("POST", "/placement_groups", json=wanted)
        return self._connection.understood(
            answer, lambda body: reading.group(body["placement_group"]), "create", f"create placement group {name}"
        )

    async def label_placement_group(self, group_id: int, labels: Mapping[str, str]) -> None:
        """Give a placement group these labels instead of its own; one that does not exist is left."""
        answer = await self._connection.send("PUT", f"/placement_groups/{group_id}", json={"labels": dict(labels)})
        with suppress(NotFound):
            self._connection.understood(answer, _nothing, "write", f"label placement group {group_id}")

    async def delete_placement_group(self, group_id: int) -> None:
        """Delete a placement group; one that does not exist is success."""
        answer = await self._connection.send("DELETE", f"/placement_groups/{group_id}")
        with suppress(NotFound):
            self._connection.understood(answer, _nothing, "delete", f"delete placement group {group_id}")

    async def server_types(self) -> list[TypeFacts]:
        """Return all server types that Nodes can run on, with their locations and prices."""
        read = await self._connection.list("server_types", reading.server_type, "list server types", {})
        return [each for each in read if each is not None]

    async def locations(self) -> list[LocationFacts]:
        """Return all locations."""
        return await self._connection.list("locations", reading.location, "list locations", {})

    async def prices(self) -> PriceFacts:
        """Return the prices that do not depend on the server type."""
        answer = await self._connection.send("GET", "/pricing")
        return self._connection.understood(answer, lambda body: reading.prices(body["pricing"]), "read", "read prices")

    async def images(
        self, *, name: str | None = None, selector: str | None = None, architecture: Architecture
    ) -> list[ImageFacts]:
        """Return the images of an architecture, those that Hetzner has deprecated included.

        Args:
            name: of a system image.
            selector: for labels of snapshots.
            architecture: of the servers.
        """
        wanted: dict[str, Any] = {"architecture": reading.architecture_name(architecture), "include_deprecated": "true"}
        if name is not None:
            wanted["name"] = name
        if selector is not None:
            wanted |= {"label_selector": selector, "type": "snapshot"}
        read = await self._connection.list("images", reading.image, "list images", wanted)
        return [each for each in read if each is not None]

    async def image(self, image_id: int) -> ImageFacts | None:
        """Return the image of that id, or None."""
        answer = await self._connection.send("GET", f"/images/{image_id}")
        call = f"get image {image_id}"
        try:
            return self._connection.understood(answer, lambda body: reading.image(body["image"]), "read", call)
        except NotFound:
            return None

    async def networks(self) -> list[NetworkFacts]:
        """Return all private networks."""
        return await self._connection.list("networks", reading.network, "list networks", {})

    async def firewalls(self) -> list[NamedFacts]:
        """Return all firewalls."""
        return await self._connection.list("firewalls", reading.named, "list firewalls", {})

    async def ssh_keys(self) -> list[NamedFacts]:
        """Return all SSH keys."""
        return await self._connection.list("ssh_keys", reading.named, "list SSH keys", {})

    async def check_writable(self) -> None:
        """Find out, in one call that changes nothing, that the token may write.

        A server that cannot exist is asked to change: whether the token may is looked at first.

        Raises:
            AuthenticationFailed: it may only read, or is not known.
        """
        answer = await self._connection.send("PUT", _NO_SERVER, json={"labels": {}})
        with suppress(NotFound, InvalidConfiguration):
            self._connection.understood(answer, _nothing, "write", "check that the token may write")

    def _created(self, body: Any) -> CreatedServer:
        actions = (body["action"], *(body.get("next_actions") or ()))
        return CreatedServer(
            reading.server(body["server"]), tuple(self._without_secrets(reading.action(one)) for one in actions)
        )

    def _action(self, body: Any) -> ActionFacts:
        return self._without_secrets(reading.action(body["action"]))

    def _without_secrets(self, action: ActionFacts) -> ActionFacts:
        """Return the action without secrets in Hetzner's words."""
        return replace(action, error_message=redacted(action.error_message, (self._token,)))


class _Requests:
    """Makes each request once, by hcloud."""

    def __init__(self, token: str, endpoint: str, transport: BaseAdapter | None, timeout_seconds: float) -> None:
        self._endpoint = endpoint
        self._timeout_seconds = timeout_seconds
        self._client = Client(token, api_endpoint=endpoint, application_name="growth")
        inner = self._client._client  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        # There is no public setting for either; the version is pinned, and a test counts requests.
        inner._retry_max_retries = 0  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self.session = inner._session  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        if transport is not None:
            for scheme in ("https://", "http://"):
                self.session.mount(scheme, transport)

    def __call__(self, method: str, path: str, *, params: Mapping[str, Any] | None, json: Any) -> ApiResponse:
        """Return the answer to a request. No exception leaves it: the text of one may hold a secret."""
        headers: dict[str, str] = {}
        statuses: list[int] = []

        def listen(response: requests.Response, **_: Any) -> None:
            headers.update({name.lower(): value for name, value in response.headers.items()})
            statuses.append(response.status_code)

        try:
            body = self._client.request(
                method, path, params=params, json=json, timeout=self._timeout_seconds, hooks={"response": listen}
            )
        except APIException as failure:
            code = failure.code if isinstance(failure.code, int) else str(failure.code)
            return ApiResponse(
                code=code,
                status=statuses[-1] if statuses else None,
                message=str(failure.message or ""),
                details=failure.details,
                headers=headers,
            )
        except requests.Timeout:
            return ApiResponse(trouble=f"{self._endpoint} did not answer within {self._timeout_seconds:g} s")
        except requests.RequestException as failure:
            return ApiResponse(trouble=f"no answer from {self._endpoint}: {cause(failure)}")
        except UNREADABLE as failure:
            return ApiResponse(trouble=unreadable(failure), headers=headers)
        return ApiResponse(body=body, headers=headers)


def _nothing(_body: Any) -> None:
    """Read nothing: that the call was accepted is all."""
