"""Asks the provider for a request's server, so that no crash or lost reply ever leaves one unknown.

The attempt is on the object before the call is made; the server's name is the request's, so a
repeated call finds what an earlier one made. Source: docs/design.md#request.
"""

from dataclasses import dataclass

from activities.objects.events import Recorder
from activities.objects.nodes import UNREGISTERED, get_node
from activities.objects.record import hold, write_status
from activities.objects.related import read_pool
from activities.objects.unavailable import note_miss, note_pause
from activities.ports.cluster import Object
from activities.ports.errors import (
    AuthenticationFailed,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    NotFound,
    QuotaExceeded,
    RateLimited,
    Unreadable,
)
from activities.ports.ports import Ports
from activities.ports.provider import Provider, ServerOrder
from activities.requests.as_planned import plan_kept
from activities.requests.create_outcome import CreateOutcomes
from activities.requests.look import RequestObjects, is_server_of
from api.keys import LABEL_CLUSTER, LABEL_REQUEST, LABEL_REQUEST_UID
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle.step import Act
from planner.supply.node_template import marks, pool_labels, pool_taints
from planner.supply.unavailable import LONGEST


@dataclass(frozen=True, slots=True)
class _Call:
    """A create call, ready to be made."""

    provider: Provider
    node_class: Object
    order: ServerOrder


async def create_server(ports: Ports, recorder: Recorder, sight: RequestObjects, act: Act) -> None:
    """Make one create call and write down how it ended.

    Raises:
        UnknownOutcome: the server may exist; the next call finds it.
        RateLimited: the call was not carried out and does not count; repeat it later.
        Conflict: the object kept changing.
    """
    timings = sight.seen.timings
    end = CreateOutcomes(ports, recorder)
    if not sight.seen.status.attempts and await get_node(ports.cluster, sight.record.name) is not None:
        await end.name_taken(sight.record, "Node", ports.now() + timings.failed_ttl)
        return
    try:
        call = await _prepare(ports, sight)
    except (InvalidConfiguration, Unreadable) as error:
        await end.refused(sight.record, error, RequestPhase.FAILED, ports.now() + timings.failed_ttl, calls=0)
        return
    record = await hold(ports.cluster, sight.record)
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
        pool_generation=None if sight.pool is None else sight.pool.metadata.generation,
        class_generation=call.node_class["metadata"].get("generation"),
        **plan_kept(ports, call.node_class, record.model.spec),
        provisioning_deadline=status.provisioning_deadline or act.until or asked_at + timings.provisioning_timeout,
    )
    try:
        server = await call.provider.create(call.node_class, call.order)
    except InsufficientCapacity as error:
        ttl = max(timings.unavailable_ttl, LONGEST) if error.lasts else timings.unavailable_ttl
        until = await note_miss(ports, record.model.spec, ttl)
        await end.refused(record, error, RequestPhase.UNMET, until)
    except QuotaExceeded as error:
        until = await note_pause(ports, record.model.spec, str(error))
        await end.refused(record, error, RequestPhase.UNMET, until)
    except (InvalidConfiguration, AuthenticationFailed) as error:
        await end.refused(record, error, RequestPhase.FAILED, ports.now() + timings.failed_ttl)
    except RateLimited as error:
        await end.not_carried_out(record, error)
        raise
    except GrowthError as error:
        # Repeated by the retry policy. The deadline on the object ends that, whatever the provider does.
        await end.unknown(record, error)
        raise
    else:
        if is_server_of(server, record.uid):
            await end.launched(record, server)
        else:
            await end.name_taken(record, "server", ports.now() + timings.failed_ttl)


async def _prepare(ports: Ports, sight: RequestObjects) -> _Call:
    """Return the call to make.

    Raises:
        InvalidConfiguration: pool, class or provider is missing.
        Unreadable: the pool cannot be read; names the field.
    """
    request = sight.record.model
    ref = request.spec.class_ref
    try:
        pool = sight.pool or await read_pool(ports, request.spec.pool)
    except NotFound:
        raise InvalidConfiguration(
            f"NodePool {request.spec.pool} does not exist: create it, or delete NodeRequest {request.metadata.name}"
        ) from None
    if sight.node_class is None:
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
        labels={LABEL_CLUSTER: ports.cluster_name, **own_labels(request)},
        node_labels={**pool_labels(pool, request.spec.server_type), **own_labels(request)},
        node_taints=[*template_taints(pool), UNREGISTERED],
    )
    return _Call(provider, sight.node_class, order)


def own_labels(request: NodeRequest) -> dict[str, str]:
    """Return the labels that tell whose machine it is, on the server and on its Node."""
    return {
        **marks(request.spec.pool, request.spec.server_type),
        LABEL_REQUEST: request.metadata.name,
        LABEL_REQUEST_UID: request.metadata.uid,
    }


def template_taints(pool: NodePool) -> list[dict[str, str]]:
    """Return the taints that the pool gives to its Nodes, as in the API."""
    return [
        {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}
        for taint in pool_taints(pool)
    ]
