"""Asks the provider for a request's server, so that no crash or lost reply ever leaves one unknown.

The attempt is on the object before the call is made; the server's name is the request's, so a
repeated call finds what an earlier one made. How a call ended is decided on the attempts that the object holds at the
moment of that write: a refusal proves that there is no server only if no other call was ever made.
Source: docs/design.md#request.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from activities.objects.events import Recorder, tell
from activities.objects.kinds import REQUESTS
from activities.objects.node_classes import note_invalid_type, note_limit, note_miss, note_shortage
from activities.objects.nodes import UNREGISTERED, get_node, own_labels, template_taints
from activities.objects.record import Record, conditions_with, hold, read_record, write_status
from activities.objects.related import read_pool
from activities.ports.cluster import Object
from activities.ports.errors import (
    AuthenticationFailed,
    Conflict,
    CreateRefused,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    RateLimited,
    Rejected,
    Unreadable,
)
from activities.ports.ports import Ports
from activities.ports.provider import Provider, Server, ServerOrder
from activities.requests.as_planned import planned_fields
from activities.requests.look import RequestObjects, is_server_of
from activities.requests.removal_order import order_removal
from activities.requests.scale_up_failed import tell_scale_up_failed
from activities.requests.template import hash_to_keep
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.request import NAME_TAKEN
from planner.lifecycle.step import Act, shortened

_TRIES: Final = 10
"""A round may write seats at the same time; giving up here costs another create call."""

Request = Record[NodeRequest]
Changes = Callable[[Request], Mapping[str, Any]]
"""New values of status fields, for the request as it is at the moment of the write."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Call:
    """A create call, ready to be made."""

    provider: Provider
    pool: NodePool
    node_class: Object
    order: ServerOrder


async def create_server(ports: Ports, recorder: Recorder, observed: RequestObjects, act: Act) -> None:
    """Make one create call and write its outcome.

    Raises:
        UnknownOutcome: the server may exist; the next call finds it.
        CreateRefused: it does not exist; a few more calls are worth making.
        RateLimited: the call was not carried out and does not count; repeat it later.
        Conflict: the object kept changing.
    """
    timings = observed.seen.timings
    end = CreateOutcomes(ports, recorder)
    if not observed.seen.status.attempts and await get_node(ports.cluster, observed.record.name) is not None:
        await end.name_taken(observed.record, "Node", ports.now() + timings.failed_ttl)
        return
    try:
        call = await _prepare(ports, observed)
    except (InvalidConfiguration, Unreadable) as error:
        await end.refused(observed.record, error, RequestPhase.FAILED, ports.now() + timings.failed_ttl, calls=0)
        return
    # Finalizer, attempt, call, in this order. With the finalizer, a deletion only marks the object, so that its server
    # cannot lose its record; the attempt tells whoever goes on after a kill that a server may exist.
    record = await hold(ports.cluster, observed.record)
    status = record.model.status
    asked_at = ports.now()
    record = await write_status(
        ports.cluster,
        record,
        now=asked_at,
        event="CreateServer",
        because=f"Create call {status.attempts + 1} for {call.order.server_type} in {call.order.location}",
        create_attempt_at=asked_at,
        attempts=status.attempts + 1,
        pool_generation=None if observed.pool is None else observed.pool.metadata.generation,
        class_generation=call.node_class["metadata"].get("generation"),
        template_hash=hash_to_keep(ports, call.pool, call.node_class, record.model),
        **planned_fields(ports, call.node_class, record.model.spec),
        provisioning_deadline=status.provisioning_deadline or act.until or asked_at + timings.provisioning_timeout,
    )
    try:
        server = await call.provider.create(call.node_class, call.order)
    except InsufficientCapacity as error:
        until = await note_shortage(ports, record.model.spec, error, timings.unavailable_ttl)
        await end.refused(record, error, RequestPhase.UNMET, until)
    except QuotaExceeded as error:
        until = await note_limit(ports, record.model.spec, error)
        await end.refused(record, error, RequestPhase.UNMET, until)
    except CreateRefused as error:
        if record.model.status.refusals + 1 < error.tries:
            await end.refused_once(record, error)
            raise
        until = await note_miss(ports, record.model.spec, timings.unavailable_ttl)
        await end.refused(record, error, RequestPhase.UNMET, until)
    except InvalidConfiguration as error:
        until = await note_invalid_type(ports, record.model.spec, error) if error.may_be_of_type else None
        if until is not None:
            await end.refused(record, error, RequestPhase.UNMET, until)
        else:
            await end.refused(record, error, RequestPhase.FAILED, ports.now() + timings.failed_ttl)
    except AuthenticationFailed as error:
        await end.refused(record, error, RequestPhase.FAILED, ports.now() + timings.failed_ttl)
    except RateLimited as error:
        await end.not_carried_out(record, error)
        raise
    except GrowthError as error:
        # Repeated by the retry policy. The deadline on the object ends that, whatever the provider does.
        await end.unknown(record, error)
        raise
    else:
        if is_server_of(ports, server, record.uid):
            await end.launched(record, server)
        else:
            await end.name_taken(record, "server", ports.now() + timings.failed_ttl)


async def _prepare(ports: Ports, observed: RequestObjects) -> _Call:
    """Return the call to make.

    Raises:
        InvalidConfiguration: pool, class or provider is missing.
        Unreadable: the pool cannot be read; names the field.
    """
    request = observed.record.model
    ref = request.spec.class_ref
    try:
        pool = observed.pool or await read_pool(ports.cluster, request.spec.pool)
    except NotFound:
        raise InvalidConfiguration(
            f"NodePool {request.spec.pool} does not exist: create it, or delete NodeRequest {request.metadata.name}"
        ) from None
    if observed.node_class is None:
        raise InvalidConfiguration(
            f"{ref.kind} {ref.name} does not exist: create it, or set template.classRef of NodePool {request.spec.pool}"
        )
    provider = ports.providers.get(ref.kind)
    if provider is None:
        raise InvalidConfiguration(f"No provider serves {ref.kind}: this worker has {', '.join(ports.providers)}")
    order = ServerOrder(
        name=request.metadata.name,
        server_type=request.spec.server_type,
        location=request.spec.location,
        labels={**ports.identity.labels(), **own_labels(request)},
        node_labels={**pool.spec.template.labels, **own_labels(request)},
        node_taints=[*template_taints(pool), UNREGISTERED],
    )
    return _Call(provider, pool, observed.node_class, order)


class CreateOutcomes:
    """Writes the outcome of create calls. Each method may raise Conflict: the object kept changing."""

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
            if record.model.status.attempts > calls + record.model.status.refusals:
                wanted = "Capacity" if phase is RequestPhase.UNMET else "Configuration"
                return {
                    "phase": RequestPhase.DEPROVISIONING,
                    "reason": f"{wanted}AfterUnknown",
                    "message": message,
                    "conditions": self._not_launched(record, error.reason, message),
                }
            return self._parked(record, phase, error.reason, message, until)

        await self._settle(record, error.reason, message, changes)
        sentence = f"{message}; not asked for again before {until:%H:%M:%S} UTC"
        await tell(self._recorder, record, error.reason, sentence, warning=True)
        await tell_scale_up_failed(self._recorder, record, error.reason, message)

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
        await tell_scale_up_failed(self._recorder, record, NAME_TAKEN, message)

    async def unknown(self, record: Request, error: GrowthError) -> None:
        """Write that a call may or may not have taken effect: the phase stays."""
        message = shortened(str(error))
        await self._settle(record, error.reason, message, lambda _: {"reason": error.reason, "message": message})

    async def refused_once(self, record: Request, error: CreateRefused) -> None:
        """Write that the call of `record`'s attempt certainly created nothing; it is repeated."""
        message = shortened(str(error))

        def changes(record: Request) -> Mapping[str, Any]:
            return {"reason": error.reason, "message": message, "refusals": record.model.status.refusals + 1}

        await self._settle(record, error.reason, message, changes)

    async def not_carried_out(self, record: Request, error: RateLimited) -> None:
        """Write that the call of `record`'s attempt had no effect, and take the attempt back.

        So a later refusal still proves that there is no server, and the time that the server has
        begins with a call that reaches the provider.
        """
        message = shortened(str(error))
        standing = {"reason": error.reason, "message": message}
        made = record.model.status

        def changes(record: Request) -> Mapping[str, Any]:
            status = record.model.status
            if (status.attempts, status.create_attempt_at) != (made.attempts, made.create_attempt_at):
                # Another attempt has begun meanwhile, whose call may have had an effect.
                return standing
            if status.attempts > 1:
                return {**standing, "attempts": status.attempts - 1}
            return {**standing, "attempts": 0, "create_attempt_at": None, "provisioning_deadline": None}

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
