"""Where each effect leads, on a cluster in memory: what planner/lifecycle/outcome.py declares is what happens."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from activities.ports.cluster import CRDS, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, PODS, VOLUME_ATTACHMENTS
from activities.ports.errors import (
    AuthenticationFailed,
    CreateRefused,
    GrowthError,
    InsufficientCapacity,
    InvalidConfiguration,
    QuotaExceeded,
    RateLimited,
    Rejected,
    UnknownOutcome,
)
from activities.ports.provider import ServerState
from activities.providers.built_in import KWOK_NODE_CLASSES
from planner.lifecycle import removal, request
from planner.lifecycle.outcome import GONE, REMOVAL_OUTCOMES, REQUEST_OUTCOMES, STAYS
from planner.lifecycle.step import Act, Decision, EffectInput
from tests.activities import bodies
from tests.activities.lives import NAME, RESERVED, SCALE_DOWN, START, UNREGISTERED

LATER = START + timedelta(minutes=5)
ASKED = START - timedelta(seconds=90)
AGAIN = {"phase": "Pending", "attempts": 1, "createAttemptAt": ASKED, "provisioningDeadline": LATER}
BOOTING = AGAIN | {"phase": "Provisioning"}
RUNNING = BOOTING | {"runningAt": ASKED, "joinDeadline": LATER}
REGISTERED = RUNNING | {"registeredAt": START, "nodeName": NAME}
READY = REGISTERED | {"phase": "Ready", "readyAt": START, "releaseBy": LATER}
GIVEN_UP = REGISTERED | {"phase": "Deprovisioning", "reason": "JoinTimeout"}
COOLED = {"phase": "Pending", "scaleDownAt": START, "taintedAt": ASKED}
CANCELLED = COOLED | {"cancel": {"at": "2026-11-01T12:00:00Z", "by": "Ada"}}
LEAVING = {"phase": "Deprovisioning"}
USED_UP = LEAVING | {"removalAttempts": 5, "removeAttemptedAt": ASKED}
DRAINING = COOLED | {"phase": "Draining", "drainStartedAt": START, "excludedAt": ASKED}
BALANCED = COOLED | {"phase": "Draining", "drainStartedAt": START}
ATTACHED = LEAVING | {"excludedAt": ASKED, "detachUntil": LATER}
PARKED = USED_UP | {"phase": "CouldNotRemove", "retryAt": LATER}


def create(*, status=None, error=None):
    async def arrange(life):
        await life.add_request(status)
        if error is not None:
            life.cloud.fail["create"] = error

    return arrange


async def unreadable_pool(life):
    await life.add_request()
    await life.cluster.put(NODE_POOLS, "default", "/spec/limits", {"max": "many"})


async def name_taken(life):
    await life.add_request()
    life.add_server(**{"growth.dev/request-uid": "another"})


async def left_out(life):
    await life.add_request()
    entry = {"serverType": "cx32", "location": "fsn1", "failures": 1}
    times = {"lastFailureAt": "2026-11-01T12:00:00Z", "until": "2026-11-01T12:02:00Z"}
    await life.cluster.put(KWOK_NODE_CLASSES, "default", "/status", {"unavailable": [entry | times]})


def machine(status, *taints, ready=False, server=ServerState.RUNNING, node=True, planned="none", refuse=False):
    """A request with its server and Node, and perhaps a planned pod."""

    async def arrange(life):
        pods, bound = planned != "none", planned == "bound"
        await life.add_machine(status, *taints, pods=pods, bound=bound, server=server, node=node, ready=ready)
        if refuse:
            life.cluster.refuse_writes(Rejected("pods is forbidden"), "patch", PODS)

    return arrange


async def one_of_two_comes(life):
    await life.add_machine(READY, RESERVED, pods=2, ready=True)
    life.cluster.bind("shop", "web-1", NAME)


async def nobody_could_see(life):
    """The time of a Node that was to join is over, and the worker has been there for 50 s."""
    await machine({**REGISTERED, "joinDeadline": START - timedelta(seconds=9)}, RESERVED)(life)
    life.ports = replace(life.ports, watched_for=lambda: timedelta(seconds=50))
    life.restart()


async def others_wait(life):
    await machine(READY, RESERVED, ready=True, planned="bound")(life)
    seat = {"namespace": "shop", "name": "web-2", "uid": "2"}
    await life.cluster.create(NODE_REQUESTS, bodies.request("default-b2", seats=[seat]))


def drained(status, *, budget=False, refuse=False, **fields):
    """A removal whose Node has a pod on it, in a pool of mode drain."""

    async def arrange(life):
        await going(status)(life)
        await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown", {"mode": "drain"})
        await life.run_pod(**fields)
        if budget:
            await life.add_budget()
        if refuse:
            life.cluster.refuse_writes(Rejected("pods may not be evicted today"), "evict")

    return arrange


async def has_an_end(life):
    """A drain that a round ordered, in a pool whose pods have an hour to leave."""
    await going(DRAINING, reason="Rotation")(life)
    await life.cluster.put(NODE_POOLS, "default", "/spec/scaleDown", {"mode": "drain", "terminationGracePeriod": "1h"})
    await life.run_pod()


def attached(status):
    """A removal whose Node has a volume attached."""

    async def arrange(life):
        await going(status)(life)
        spec = {"attacher": "csi.example", "nodeName": NAME, "source": {"persistentVolumeName": "pv-1"}}
        await life.cluster.create(VOLUME_ATTACHMENTS, {"metadata": {"name": "csi-1"}, "spec": spec})

    return arrange


def undefined(arrange, resource):
    """What `arrange` makes, while our definitions are removed."""

    async def so(life):
        await arrange(life)
        await life.cluster.delete(CRDS, f"{resource.plural}.{resource.group}")

    return so


def going(status=None, *, taint=True, server=True, node=True, error=None, annotations=None, **spec):
    async def arrange(life):
        await life.add_leaving(status, *([SCALE_DOWN] if taint else []), server=server, node=node, **spec)
        if annotations:
            await life.cluster.put(NODE_REMOVAL_REQUESTS, NAME, "/metadata/annotations", annotations)
        if error is not None:
            life.cloud.fail["delete"] = error

    return arrange


REQUESTS = [
    (create(), "create_server", "Provisioning", "Launched"),
    (create(error=UnknownOutcome("?")), "create_server", STAYS, "UnknownOutcome"),
    (create(error=RateLimited("?", 1)), "create_server", STAYS, "RateLimited"),
    (create(error=InsufficientCapacity("?")), "create_server", "Unmet", "InsufficientCapacity"),
    (create(error=CreateRefused("?", tries=1)), "create_server", "Unmet", "CreateRefused"),
    (create(error=QuotaExceeded("?")), "create_server", "Unmet", "QuotaExceeded"),
    (create(error=InvalidConfiguration("?")), "create_server", "Failed", "InvalidConfiguration"),
    (create(error=AuthenticationFailed("?")), "create_server", "Failed", "AuthenticationFailed"),
    (unreadable_pool, "create_server", "Failed", "Unreadable"),
    (name_taken, "create_server", "Failed", "NameTaken"),
    (create(status=AGAIN, error=QuotaExceeded("?")), "create_server", "Deprovisioning", "CapacityAfterUnknown"),
    (
        create(status=AGAIN, error=AuthenticationFailed("?")),
        "create_server",
        "Deprovisioning",
        "ConfigurationAfterUnknown",
    ),
    (left_out, "mark_unmet", "Unmet", ""),
    (machine(BOOTING, node=False), "mark_running", STAYS, ""),
    (machine(RUNNING, UNREGISTERED), "register_node", STAYS, ""),
    (machine(RUNNING, UNREGISTERED, planned="waiting", refuse=True), "register_node", STAYS, ""),
    (machine(REGISTERED, RESERVED, planned="waiting"), "tolerate_pods", STAYS, ""),
    (machine(REGISTERED, RESERVED, planned="waiting", refuse=True), "tolerate_pods", STAYS, "PodsRefused"),
    (machine(REGISTERED, ready=True), "mark_ready", "Ready", ""),
    (one_of_two_comes, "mark_tried", STAYS, ""),
    (nobody_could_see, "tell_delay", STAYS, ""),
    (others_wait, "mark_settled", STAYS, ""),
    (machine(READY, RESERVED, ready=True), "release_node", STAYS, ""),
    (machine(BOOTING, server=ServerState.BROKEN, node=False), "give_up", "Deprovisioning", ""),
    (machine(GIVEN_UP), "hand_over", GONE, ""),
    (machine(GIVEN_UP, RESERVED, ready=True), "hand_over", "Provisioning", "InTime"),
    (machine(READY | {"releasedAt": START, "expiresAt": START}, ready=True), "finish_request", GONE, ""),
    (undefined(create(), NODE_REQUESTS), "forget_request", GONE, ""),
]
REMOVALS = [
    (going(taint=False), None, "taint_node", STAYS, ""),
    (going(annotations={"growth.dev/decision": "retry"}), None, "answer_decision", STAYS, ""),
    (going(COOLED), "cancel", "cancel_removal", STAYS, ""),
    (going(CANCELLED), None, "untaint_node", STAYS, ""),
    (drained(COOLED), None, "begin_drain", "Draining", ""),
    (drained(BALANCED), None, "leave_balancers", STAYS, ""),
    (attached(ATTACHED), None, "tell_volumes", STAYS, ""),
    (drained(DRAINING, volumes=[{"name": "data", "emptyDir": {}}]), None, "tell_blockers", STAYS, ""),
    (has_an_end, None, "tell_deadline", STAYS, ""),
    (drained(DRAINING), None, "evict_pods", STAYS, ""),
    (drained(DRAINING, budget=True), None, "evict_pods", STAYS, "BlockedByBudget"),
    (drained(DRAINING, refuse=True), None, "evict_pods", STAYS, "EvictionRefused"),
    (going(COOLED), None, "commit_removal", "Deprovisioning", ""),
    (going(immediate=True), None, "commit_removal", "Deprovisioning", ""),
    (going(LEAVING), None, "delete_server", STAYS, ""),
    (going(LEAVING, error=QuotaExceeded("?")), None, "delete_server", STAYS, "DeleteFailed"),
    (going(LEAVING, error=RateLimited("?", 1)), None, "delete_server", STAYS, "RateLimited"),
    (going(LEAVING, server=False), None, "delete_node", STAYS, ""),
    (going(USED_UP), None, "park_removal", "CouldNotRemove", ""),
    (going(PARKED), "retry", "resume_removal", "Deprovisioning", ""),
    (going(PARKED), "abandon", "abandon_server", GONE, ""),
    (going(PARKED), "skip", "skip_server", GONE, ""),
    (going(LEAVING, server=False, node=False), None, "finish_removal", GONE, ""),
    (undefined(going(LEAVING), NODE_REMOVAL_REQUESTS), None, "forget_removal", GONE, ""),
]


async def outcome(life, activities, decide, look):
    """Carry the step out, and return its effect, the phase afterwards and the reason that is not the step's."""
    given = EffectInput(name=NAME, uid=life.uid)
    before = await look(given)
    step = decide(before)
    assert isinstance(step, Act), step
    with suppress(GrowthError):
        await getattr(activities, step.effect)(given.model_copy(update={"act": step}))
    after = await look(given)
    if not after.exists:
        return step.effect, GONE, ""
    phase = STAYS if after.status.phase == before.status.phase else after.status.phase
    own = after.status.reason not in (step.reason, before.status.reason)
    return step.effect, phase, after.status.reason if own else ""


def check_log(caplog, ended):
    """Assert that what a person should know of is one warning. Source: issue 17, section 4."""
    _, phase, _ = ended
    warnings = [each.message for each in caplog.records if each.name == "activities.objects.record"]
    is_trouble = phase in {"Unmet", "Failed", "Deprovisioning", "CouldNotRemove"} and ended[0] != "commit_removal"
    # One that was retried by a person goes on as any other.
    assert len(warnings) == (is_trouble and ended[0] != "resume_removal")
    assert all(f" {NAME} is {phase}, reason " in line for line in warnings)


@pytest.mark.parametrize("row", REQUESTS, ids=lambda row: ":".join(row[-3:]))
async def test_of_a_request(life, row, caplog):
    arrange, *expected = row
    await arrange(life)
    ended = await outcome(
        life, life.requests, lambda seen: request.next_step(seen, life.now()), life.requests.look_request
    )
    assert ended == tuple(expected)
    check_log(caplog, ended)


@pytest.mark.parametrize("row", REMOVALS, ids=lambda row: ":".join(row[-3:]))
async def test_of_a_removal(life, row, caplog):
    arrange, asked, *expected = row
    await arrange(life)
    message = None if asked is None else Decision(kind=asked)
    ended = await outcome(
        life, life.removals, lambda seen: removal.next_step(seen, message, life.now()), life.removals.look_removal
    )
    assert ended == tuple(expected)
    check_log(caplog, ended)


@pytest.mark.parametrize(("tried", "declared"), [(REQUESTS, REQUEST_OUTCOMES), (REMOVALS, REMOVAL_OUTCOMES)])
def test_what_is_declared_is_what_was_tried(tried, declared):
    outcomes = {(effect, one.phase, one.reason) for effect, outcomes in declared.items() for one in outcomes}
    assert {row[-3:] for row in tried} == outcomes


@pytest.mark.parametrize("declared", [REQUEST_OUTCOMES, REMOVAL_OUTCOMES])
def test_only_a_reason_of_its_own_is_explained(declared):
    assert all(bool(one.reason) == bool(one.message) for outcomes in declared.values() for one in outcomes)
