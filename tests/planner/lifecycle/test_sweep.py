"""What must hold for every observation at once: a step always comes, no wait is without an end, no server goes early.

A product of everything that the steps look at, and arbitrary observations beyond it.
"""

from datetime import UTC, datetime, timedelta
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from api.v1alpha1.node_removal_request import CancelRecord, NodeRemovalRequestStatus, RemovalPhase
from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle import removal, request
from planner.lifecycle.removal import RemovalEffect
from planner.lifecycle.request import RequestEffect
from planner.lifecycle.seen import (
    Blocker,
    DecisionSeen,
    DrainSeen,
    NodeSeen,
    RemovalObservation,
    RemovalTimings,
    RequestObservation,
    ServerSeen,
)
from planner.lifecycle.step import Act, Decision, DecisionKind, Done, Wait
from tests.searching import searching

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
TIMES = (None, NOW - timedelta(seconds=90), NOW, NOW + timedelta(seconds=90))
SERVERS = (
    (ServerSeen.UNKNOWN, False),
    (ServerSeen.ABSENT, False),
    (ServerSeen.FOREIGN, False),
    (ServerSeen.CREATING, False),
    (ServerSeen.CREATING, True),
    (ServerSeen.RUNNING, False),
    (ServerSeen.BROKEN, False),
)
"""What is seen of the server, and whether the provider works on it."""
NODES = (
    None,
    NodeSeen(name="a", ready=False, unregistered=True),
    NodeSeen(name="a", ready=False),
    NodeSeen(name="a", ready=True, reserved=True),
    NodeSeen(name="a", ready=True, reserved=True, missing="a device"),
)


def check_step(step, effects):
    assert isinstance(step, Act | Wait | Done)
    if isinstance(step, Act):
        assert step.effect in set(effects)
    if isinstance(step, Wait):
        wake_at = step.wake_at(NOW)
        assert wake_at is not None, f"{step.reason} waits without an end"
        assert wake_at > NOW, f"{step.reason} waits for the past"
        assert step.until is None or step.until > NOW


def check_request(seen):
    step = request.next_step(seen, NOW)
    check_step(step, RequestEffect)
    asked = seen.status.create_attempt_at is not None
    effect = step.effect if isinstance(step, Act) else None
    phase = seen.status.phase
    if effect == RequestEffect.HAND_OVER:
        assert phase is RequestPhase.DEPROVISIONING
    if seen.exists and seen.crds_going:
        assert effect == RequestEffect.FORGET
        return
    if phase is RequestPhase.PENDING and seen.deleting and not asked and seen.exists:
        assert effect == RequestEffect.FINISH
    if effect == RequestEffect.FINISH and phase is RequestPhase.PENDING:
        assert not asked, "a server may exist and nobody would look for it"
    if effect == RequestEffect.FINISH and phase is RequestPhase.READY and seen.node is None:
        assert seen.server in {ServerSeen.ABSENT, ServerSeen.FOREIGN}, "a server without a Node would be left"
    if effect == RequestEffect.MARK_UNMET:
        assert not asked
    if effect == RequestEffect.CREATE_SERVER:
        assert not seen.deleting
    if effect == RequestEffect.GIVE_UP and step.reason in request.TIMEOUTS and phase is RequestPhase.PROVISIONING:
        assert seen.node is None or not seen.node.ready, "a Ready Node wins over a time-out"
        assert not (seen.node and seen.bound), "a bound pod wins over a time-out"
    deadline = seen.status.provisioning_deadline
    if step.reason == request.PROVISIONING_TIMEOUT and phase is RequestPhase.PROVISIONING and seen.server_progresses:
        is_over = deadline is None or deadline + 2 * seen.timings.provisioning_timeout <= NOW
        assert is_over or seen.server is not ServerSeen.CREATING, "a server that its provider works on would go"
    if step.reason == "ServerBoot":
        assert deadline is not None
        assert deadline + 2 * seen.timings.provisioning_timeout > NOW, "a slow server is waited for without an end"


def check_removal(seen, decision):
    step = removal.next_step(seen, decision, NOW)
    check_step(step, RemovalEffect)
    effect = step.effect if isinstance(step, Act) else None
    if effect in {RemovalEffect.DELETE_SERVER, RemovalEffect.DELETE_NODE}:
        assert seen.status.phase is RemovalPhase.DEPROVISIONING
    if effect in {RemovalEffect.SKIP, RemovalEffect.ABANDON}:
        assert seen.status.phase is RemovalPhase.COULD_NOT_REMOVE
        assert decision is not None or seen.decision is not None
    if effect == RemovalEffect.ANSWER:
        assert seen.decision is not None
    if effect in {RemovalEffect.DRAIN, RemovalEffect.TELL_BLOCKERS, RemovalEffect.EVICT}:
        assert seen.may_drain
        assert not seen.status.cancel
        assert not seen.deleting
        assert seen.occupant_count
        assert seen.node.scale_down
        assert not seen.node.keep
        assert not seen.node.foreign
        assert decision is None or decision.kind is not DecisionKind.CANCEL
    if effect == RemovalEffect.EVICT:
        assert seen.status.phase is RemovalPhase.DRAINING
        assert seen.drain.in_turn
        assert seen.drain.blocker is None or _is_over(seen), "a pod that must stay would go"
        assert (step.reason == "HardGrace") == _is_over(seen)
    if effect == RemovalEffect.COMMIT and not seen.immediate:
        assert not seen.status.cancel
        assert not seen.deleting
        assert seen.decision is None, "what a person wrote is neither obeyed nor answered"
        assert decision is None or decision.kind is not DecisionKind.CANCEL
        assert seen.node is None or (seen.node.scale_down and not seen.node.keep and not seen.occupant_count)
        assert seen.node is None or not seen.node.foreign
    if effect == RemovalEffect.FINISH and seen.status.phase.is_reversible:
        assert seen.status.cancel
        assert not _is_tainted(seen), "the node would stay tainted"
    if effect == RemovalEffect.FINISH and seen.server is ServerSeen.FOREIGN:
        assert not _is_tainted(seen), "the node would stay tainted"
    if effect == RemovalEffect.DELETE_NODE:
        assert seen.server is ServerSeen.ABSENT
        assert not seen.node.foreign, "somebody else's node would go"
    if seen.exists and seen.crds_going:
        assert effect == RemovalEffect.FORGET


def _is_over(seen):
    began, grace = seen.status.drain_started_at, seen.timings.hard_grace
    return began is not None and grace is not None and began + grace <= NOW


def _is_tainted(seen):
    tainted = seen.node is not None and seen.node.scale_down
    return tainted and not (seen.node.foreign and seen.status.tainted_at is None)


def test_all_observations_of_a_request():
    for phase, deleting, (server, progresses), node, asked_at, deadline in product(
        RequestPhase, (False, True), SERVERS, NODES, TIMES[:3], TIMES[1:]
    ):
        for registered_at, released_at, running_at in product(TIMES[:2], TIMES[:2], TIMES[:2]):
            status = NodeRequestStatus.model_construct(
                phase=phase,
                create_attempt_at=asked_at,
                provisioning_deadline=deadline,
                join_deadline=deadline,
                release_by=deadline,
                expires_at=deadline,
                registered_at=registered_at,
                released_at=released_at,
                running_at=running_at,
            )
            for awaited, untolerated, bound in ((0, 0, 0), (1, 0, 1), (1, 1, 0)):
                check_request(
                    RequestObservation.model_construct(
                        status=status,
                        deleting=deleting,
                        server=server,
                        server_progresses=progresses,
                        node=node,
                        seats=1,
                        awaited=awaited,
                        untolerated=untolerated,
                        bound=bound,
                    )
                )


def test_all_observations_of_a_drain():
    drains = (
        *(DrainSeen(in_turn=n, terminating=t) for n, t in product((0, 2), repeat=2)),
        *(DrainSeen(in_turn=n, blocker=b, is_told=t) for n, b, t in product((0, 2), Blocker, (False, True))),
    )
    graces = (None, timedelta(seconds=90), timedelta(seconds=200))
    for drain, began, asked, attempts, grace in product(drains, TIMES, TIMES, (0, 1, 5), graces):
        for may_drain, occupants, cancel in product((False, True), (0, 2), (None, CancelRecord(at=NOW, by="Person"))):
            status = NodeRemovalRequestStatus.model_construct(
                phase=RemovalPhase.DRAINING,
                cancel=cancel,
                tainted_at=began,
                scale_down_at=began,
                drain_started_at=began,
                evict_attempts=attempts,
                evict_attempted_at=asked,
            )
            seen = RemovalObservation.model_construct(
                status=status,
                node=NODES[3].model_copy(update={"scale_down": True}),
                occupant_count=occupants,
                may_drain=may_drain,
                drain=drain,
                timings=RemovalTimings(hard_grace=grace),
            )
            check_removal(seen, None)


def test_all_observations_of_a_removal():
    nodes = (
        None,
        *(
            NodeSeen(name="a", ready=True, scale_down=s, keep=k, foreign=f)
            for s, k, f in product((False, True), repeat=3)
        ),
    )
    cancels = (None, CancelRecord(at=NOW, by="Person"))
    decisions = (None, *(Decision(kind=kind) for kind in DecisionKind))
    for phase, deleting, immediate, server, node, cancel in product(
        RemovalPhase, (False, True), (False, True), ServerSeen, nodes, cancels
    ):
        for moment, attempts, occupants, asked_at in product(TIMES, (0, 1, 5), (0, 1), TIMES[:3]):
            status = NodeRemovalRequestStatus.model_construct(
                phase=phase,
                cancel=cancel,
                tainted_at=moment,
                scale_down_at=moment,
                remove_attempted_at=moment,
                retry_at=moment,
                removal_attempts=attempts,
            )
            seen = RemovalObservation.model_construct(
                status=status,
                deleting=deleting,
                immediate=immediate,
                server=server,
                node=node,
                occupant_count=occupants,
                create_attempt_at=asked_at,
                timings=RemovalTimings(),
            )
            for decision in decisions if attempts == 0 else decisions[:1]:
                check_removal(seen, decision)


seconds = st.integers(-4000, 4000)
times = st.none() | seconds.map(lambda s: NOW + timedelta(seconds=s))
texts = st.text(max_size=1024)
nodes = st.none() | st.builds(
    NodeSeen,
    name=st.text(min_size=1, max_size=253),
    ready=st.booleans(),
    unregistered=st.booleans(),
    reserved=st.booleans(),
    scale_down=st.booleans(),
    keep=st.booleans(),
    foreign=st.booleans(),
)
counts = st.integers(0, 1000)
requests = st.builds(
    RequestObservation,
    exists=st.booleans(),
    crds_going=st.booleans(),
    deleting=st.booleans(),
    status=st.builds(
        NodeRequestStatus,
        phase=st.sampled_from(RequestPhase),
        reason=texts,
        message=texts,
        create_attempt_at=times,
        provisioning_deadline=times,
        running_at=times,
        join_deadline=times,
        registered_at=times,
        release_by=times,
        released_at=times,
        expires_at=times,
    ),
    server=st.sampled_from(ServerSeen),
    server_progresses=st.booleans(),
    server_problem=texts,
    node=nodes,
    seats=counts,
    awaited=counts,
    untolerated=counts,
    bound=counts,
    offering_unavailable_until=times,
    buying_paused_until=times,
    pause_message=texts,
)
removals = st.builds(
    RemovalObservation,
    exists=st.booleans(),
    crds_going=st.booleans(),
    deleting=st.booleans(),
    immediate=st.booleans(),
    create_attempt_at=times,
    status=st.builds(
        NodeRemovalRequestStatus,
        phase=st.sampled_from(RemovalPhase),
        reason=texts,
        message=texts,
        tainted_at=times,
        scale_down_at=times,
        cancel=st.none() | st.builds(CancelRecord, at=st.just(NOW), by=st.text(max_size=64)),
        removal_attempts=st.integers(0, 10),
        remove_attempted_at=times,
        retry_at=times,
        drain_started_at=times,
        evict_attempts=st.integers(0, 1000),
        evict_attempted_at=times,
    ),
    server=st.sampled_from(ServerSeen),
    server_problem=texts,
    node=nodes,
    occupants=st.lists(st.text(max_size=320), max_size=5).map(tuple),
    occupant_count=counts,
    may_drain=st.booleans(),
    drain=st.builds(
        DrainSeen,
        in_turn=counts,
        terminating=counts,
        blocker=st.none() | st.sampled_from(Blocker),
        blockers=st.lists(st.text(max_size=400), max_size=6).map(tuple),
        is_told=st.booleans(),
    ),
    timings=st.builds(RemovalTimings, hard_grace=st.none() | st.integers(0, 4000).map(lambda s: timedelta(seconds=s))),
    decision=st.none() | st.builds(DecisionSeen, word=st.sampled_from([*DecisionKind, "rtry", ""])),
)
decisions = st.none() | st.builds(
    Decision, kind=st.sampled_from(DecisionKind), by=st.text(max_size=64), reason=st.text(max_size=512)
)


@searching(300)
@given(requests)
def test_any_request(seen):
    check_request(seen)


@searching(300)
@given(removals, decisions)
def test_any_removal(seen, decision):
    check_removal(seen, decision)
