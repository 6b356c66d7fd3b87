"""Writes down how a create call ended: launched, refused for certain, not carried out, or unknown.

Every decision here is made on the attempts that the object holds at the moment of the write. A
refusal proves that there is no server only if no other call was ever made.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal

from activities.objects.effects import tell
from activities.objects.events import Recorder
from activities.objects.kinds import REQUESTS
from activities.objects.record import Record, conditions_with, read_record, write_status
from activities.ports.errors import Conflict, GrowthError, NotFound, RateLimited, Rejected
from activities.ports.ports import Ports
from activities.ports.provider import Server
from activities.requests.removal_order import order_removal
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.request import NAME_TAKEN
from planner.lifecycle.step import shortened

_TRIES: Final = 10
"""A round may write seats at the same time; giving up here costs another create call."""

Request = Record[NodeRequest]
Changes = Callable[[Request], Mapping[str, Any]]
"""New values of status fields, for the request as it is at the moment of the write."""

log = logging.getLogger(__name__)


class CreateOutcomes:
    """Writes how create calls ended. Each method may raise Conflict: the object kept changing."""

    def __init__(self, ports: Ports, recorder: Recorder) -> None:
        self._ports = ports
        self._recorder = recorder

    async def launched(self, record: Request, server: Server) -> None:
        """Write that the server exists and is this request's."""
        message = f"Server {server.provider_id} was created; it shall run"
        now = self._ports.now()

        def changes(record: Request) -> Mapping[str, Any]:
            return {
                "phase": RequestPhase.PROVISIONING,
                "reason": "Launched",
                "message": message,
                "provider_id": server.provider_id,
                "conditions": conditions_with(
                    record, "Launched", status=True, reason="Launched", message=message, now=now
                ),
            }

        await self._settle(record, "Launched", message, changes)
        await tell(self._recorder, record, "Launched", message)

    async def refused(
        self, record: Request, error: GrowthError, phase: RequestPhase, until: datetime, *, calls: int = 1
    ) -> None:
        """Write that `calls` calls certainly created nothing.

        They prove that there is no server only if no other call was ever made. After one of unknown
        outcome the request goes the way of the hand-over, whose removal looks until it is certain.
        """
        message = shortened(str(error))

        def changes(record: Request) -> Mapping[str, Any]:
            if record.model.status.attempts > calls:
                wanted = "Capacity" if phase is RequestPhase.UNMET else "Configuration"
                return {
                    "phase": RequestPhase.DEPROVISIONING,
                    "reason": f"{wanted}AfterUnknown",
                    "message": message,
                    "conditions": self._not_launched(record, error.reason, message),
                }
            return self._parked(record, phase, error.reason, message, until)

        await self._settle(record, error.reason, message, changes)
        told = f"{message}; not asked for again before {until:%H:%M:%S} UTC"
        await tell(self._recorder, record, error.reason, told, warning=True)

    async def name_taken(self, record: Request, taken_by: Literal["server", "Node"], until: datetime) -> None:
        """Write that a server or Node of that name is not this request's.

        Names are unique at the provider, so no call of this request has made a server, whatever its
        outcome. A Node is looked for before the first call: the machine could not join under its
        name, and the Node that has it would be taken for the machine's, and removed as such.
        """
        message = f"A {taken_by} named {record.name} exists already and was not made for this request"

        def changes(record: Request) -> Mapping[str, Any]:
            return self._parked(record, RequestPhase.FAILED, NAME_TAKEN, message, until)

        await self._settle(record, NAME_TAKEN, message, changes)
        await tell(self._recorder, record, NAME_TAKEN, message, warning=True)

    async def unknown(self, record: Request, error: GrowthError) -> None:
        """Write that a call may or may not have taken effect: the phase stays."""
        message = shortened(str(error))
        await self._settle(record, error.reason, message, lambda _: {"reason": error.reason, "message": message})

    async def not_carried_out(self, record: Request, error: RateLimited) -> None:
        """Write that the call of `record`'s attempt had no effect, and take the attempt back.

        So a later refusal still proves that there is no server, and the time that the server has
        begins with a call that reaches the provider.
        """
        message = shortened(str(error))
        told = {"reason": error.reason, "message": message}
        made = record.model.status

        def changes(record: Request) -> Mapping[str, Any]:
            status = record.model.status
            if (status.attempts, status.create_attempt_at) != (made.attempts, made.create_attempt_at):
                # Another attempt has begun meanwhile, whose call may have had an effect.
                return told
            if status.attempts > 1:
                return {**told, "attempts": status.attempts - 1}
            return {**told, "attempts": 0, "create_attempt_at": None, "provisioning_deadline": None}

        await self._settle(record, error.reason, message, changes)

    def _parked(
        self, record: Request, phase: RequestPhase, reason: str, message: str, until: datetime
    ) -> Mapping[str, Any]:
        return {
            "phase": phase,
            "reason": reason,
            "message": message,
            "expires_at": until,
            "conditions": self._not_launched(record, reason, message),
        }

    def _not_launched(self, record: Request, reason: str, message: str) -> object:
        return conditions_with(record, "Launched", status=False, reason=reason, message=message, now=self._ports.now())

    async def _settle(self, record: Request, event: str, because: str, changes: Changes) -> None:
        """Write `changes`, unless another attempt of this effect has moved the request on.

        When the object is gone, the removal is ordered in its stead, so that no server is left.
        """
        cluster = self._ports.cluster
        tries = 0
        while True:
            tries += 1
            now = self._ports.now()
            try:
                await write_status(cluster, record, now=now, event=event, because=because, **changes(record))
            except (Conflict, NotFound) as error:
                fresh = await read_record(cluster, REQUESTS, record.name, record.uid)
                if fresh is None:
                    await self._clean_up(record)
                    return
                if fresh.model.status.phase is not RequestPhase.PENDING:
                    return
                if tries >= _TRIES:
                    raise Conflict(f"NodeRequest {record.name} keeps changing") from error
                record = fresh
            else:
                return

    async def _clean_up(self, record: Request) -> None:
        log.warning("NodeRequest %s vanished while its server was created: order the removal", record.name)
        try:
            await order_removal(self._ports, record.model)
        except (NotFound, Rejected) as error:
            # Without our definitions nothing may be ordered: then the server is left, as it must be.
            log.warning("the removal of server %s cannot be ordered: %s", record.name, error)
