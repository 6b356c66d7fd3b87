"""Every phase of a request with every observation that its next step depends on. Source: docs/design.md#request."""

from datetime import UTC, datetime, timedelta

import pytest

from api.v1alpha1.node_request import NodeRequestStatus, RequestPhase
from planner.lifecycle.request import RequestEffect, next_step
from planner.lifecycle.seen import NodeSeen, RequestObservation, RequestTimings, ServerSeen
from planner.lifecycle.step import Act, Done, Wait

NOW = datetime(2026, 11, 1, 12, 0, tzinfo=UTC)
TIMINGS = RequestTimings(provisioning_timeout=timedelta(minutes=3), join_timeout=timedelta(minutes=4))


def ago(seconds):
    return NOW - timedelta(seconds=seconds)


def ahead(seconds):
    return NOW + timedelta(seconds=seconds)


def node(*, ready=False, **flags):
    return NodeSeen(name="a", ready=ready, **flags)


def seen(phase, status=None, **fields):
    return RequestObservation(status=NodeRequestStatus(phase=phase, **(status or {})), timings=TIMINGS, **fields)


def pending(status=None, **fields):
    return seen(RequestPhase.PENDING, status, **fields)


def provisioning(status=None, **fields):
    """A request whose server was asked for 100 s ago and shall run within 50 s."""
    times = {"create_attempt_at": ago(100), "provisioning_deadline": ahead(50)}
    return seen(RequestPhase.PROVISIONING, times | (status or {}), **{"server": ServerSeen.CREATING} | fields)


def running(status=None, **fields):
    """One whose server runs and whose Node shall be Ready within 30 s."""
    times = {"running_at": ago(10), "join_deadline": ahead(30)}
    return provisioning(times | (status or {}), **{"server": ServerSeen.RUNNING} | fields)


def registered(status=None, **fields):
    """One whose Node registered 20 s ago and keeps one seat."""
    return running(
        {"registered_at": ago(20)} | (status or {}), **{"node": node(reserved=True), "seats": 1, "awaited": 1} | fields
    )


def ready(status=None, **fields):
    """One whose Node is Ready and kept for 30 s more, for one pod."""
    times = {"create_attempt_at": ago(200), "registered_at": ago(40), "ready_at": ago(30), "release_by": ahead(30)}
    return seen(
        RequestPhase.READY,
        times | (status or {}),
        **{"server": ServerSeen.RUNNING, "node": node(ready=True, reserved=True), "seats": 1, "awaited": 1} | fields,
    )


def released(status=None, **fields):
    """A Ready one that is open for all; its record goes in 300 s."""
    times = {"released_at": ago(5), "expires_at": ahead(300)}
    return ready(times | (status or {}), **{"node": node(ready=True), "awaited": 0} | fields)


ROWS = {
    # name: (seen, effect or kind of step, reason, deadline)
    "gone": (RequestObservation(exists=False), Done, "Gone", None),
    "definitions going": (released(deleting=True, crds_going=True), "forget_request", "DefinitionRemoved", None),
    "definitions going before a server": (
        pending(deleting=True, crds_going=True),
        "forget_request",
        "DefinitionRemoved",
        None,
    ),
    # Pending
    "new": (pending(), "create_server", "CreateServer", ahead(180)),
    "new, offering left out": (
        pending(offering_unavailable_until=ahead(60)),
        "mark_unmet",
        "OfferingUnavailable",
        ahead(60),
    ),
    "new, offering's time is over": (
        pending(offering_unavailable_until=NOW),
        "create_server",
        "CreateServer",
        ahead(180),
    ),
    "asked, no answer": (
        pending({"create_attempt_at": ago(5), "provisioning_deadline": ahead(70)}),
        "create_server",
        "CreateServer",
        ahead(70),
    ),
    "asked, offering left out since": (
        pending(
            {"create_attempt_at": ago(5), "provisioning_deadline": ahead(70)}, offering_unavailable_until=ahead(60)
        ),
        "create_server",
        "CreateServer",
        ahead(70),
    ),
    "asked, never answered": (
        pending({"create_attempt_at": ago(5), "provisioning_deadline": NOW}),
        "give_up",
        "ProvisioningTimeout",
        None,
    ),
    "deleted before asked": (pending(deleting=True), "finish_request", "Cancelled", None),
    "deleted before asked, offering left out": (
        pending(deleting=True, offering_unavailable_until=ahead(60)),
        "finish_request",
        "Cancelled",
        None,
    ),
    "deleted after asked": (pending({"create_attempt_at": ago(1)}, deleting=True), "give_up", "Cancelled", None),
    # Provisioning: the server
    "boots": (provisioning(), Wait, "ServerBoot", ahead(50)),
    "boots, provider silent": (provisioning(server=ServerSeen.UNKNOWN), Wait, "ServerBoot", ahead(50)),
    "boots, being deleted at the provider": (provisioning(server=ServerSeen.DELETING), Wait, "ServerBoot", ahead(50)),
    "does not run in time": (provisioning({"provisioning_deadline": NOW}), "give_up", "ProvisioningTimeout", None),
    "no deadline known": (provisioning({"provisioning_deadline": None}), "give_up", "ProvisioningTimeout", None),
    "runs": (provisioning(server=ServerSeen.RUNNING), "mark_running", "Running", ahead(240)),
    "runs, after its deadline": (
        provisioning({"provisioning_deadline": ago(1)}, server=ServerSeen.RUNNING),
        "mark_running",
        "Running",
        ahead(240),
    ),
    "broken": (provisioning(server=ServerSeen.BROKEN), "give_up", "ServerBroken", None),
    "absent, 59 s after the call": (
        provisioning({"create_attempt_at": ago(59)}, server=ServerSeen.ABSENT),
        Wait,
        "ServerBoot",
        ahead(50),
    ),
    "absent, 60 s after the call": (
        provisioning({"create_attempt_at": ago(60)}, server=ServerSeen.ABSENT),
        "give_up",
        "ServerGone",
        None,
    ),
    "absent, Node Ready": (
        registered(server=ServerSeen.ABSENT, node=node(ready=True, reserved=True)),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    "absent, Node not Ready": (registered(server=ServerSeen.ABSENT), "give_up", "ServerGone", None),
    "another's server": (provisioning(server=ServerSeen.FOREIGN), "give_up", "ServerGone", None),
    "deleted while it boots": (provisioning(deleting=True), "give_up", "Cancelled", None),
    "deleted, Node Ready": (
        registered(deleting=True, node=node(ready=True, reserved=True)),
        "give_up",
        "Cancelled",
        None,
    ),
    "deleted, broken": (provisioning(deleting=True, server=ServerSeen.BROKEN), "give_up", "Cancelled", None),
    # Provisioning: the Node
    "awaits its Node": (running(), Wait, "NodeReady", ahead(30)),
    "no Node in time": (running({"join_deadline": NOW}), "give_up", "JoinTimeout", None),
    "no join deadline known": (running({"join_deadline": None}), "give_up", "JoinTimeout", None),
    "Node joins": (running(node=node(unregistered=True)), "register_node", "Registered", None),
    "Node joins Ready": (running(node=node(ready=True, unregistered=True)), "register_node", "Registered", None),
    "Node joins after the deadline": (
        running({"join_deadline": ago(1)}, node=node(unregistered=True)),
        "register_node",
        "Registered",
        None,
    ),
    "Node joins before the server is seen running": (
        provisioning(node=node(unregistered=True)),
        "register_node",
        "Registered",
        None,
    ),
    "Node without its startup taint": (running(node=node()), "register_node", "Registered", None),
    "Node joins anew": (registered(node=node(unregistered=True)), "register_node", "Registered", None),
    "registered before the server is seen running": (
        provisioning({"registered_at": ago(1)}, node=node(reserved=True)),
        "mark_running",
        "Running",
        ahead(240),
    ),
    "registered, not Ready": (registered(), Wait, "NodeReady", ahead(30)),
    "registered, deadline far": (registered({"join_deadline": ahead(500)}), Wait, "NodeReady", ahead(500)),
    "registered, pods planned later": (registered(untolerated=1), "tolerate_pods", "Reserved", None),
    "registered, pods planned later, Ready": (
        registered(untolerated=1, node=node(ready=True, reserved=True)),
        "tolerate_pods",
        "Reserved",
        None,
    ),
    "not Ready 60 s after registration": (
        registered({"registered_at": ago(60), "join_deadline": ahead(500)}),
        Wait,
        "NodeReady",
        ahead(500),
    ),
    "not Ready, open for all": (
        registered({"registered_at": ago(90), "released_at": ago(30)}, node=node(), untolerated=1),
        Wait,
        "NodeReady",
        ahead(30),
    ),
    "open for all, taint left over": (
        registered({"registered_at": ago(90), "released_at": ago(30)}),
        "release_node",
        "Released",
        None,
    ),
    "registered, Node gone": (registered({"registered_at": ago(90)}, node=None), "give_up", "NodeGone", None),
    "registered, Node gone, provider silent": (
        registered({"registered_at": ago(90)}, node=None, server=ServerSeen.UNKNOWN),
        Wait,
        "NodeReady",
        ahead(30),
    ),
    "registered, Node gone, server perhaps": (
        registered({"registered_at": ago(20), "create_attempt_at": ago(59)}, node=None, server=ServerSeen.ABSENT),
        Wait,
        "ServerAnswer",
        None,
    ),
    "not Ready in time": (registered({"join_deadline": NOW}), "give_up", "JoinTimeout", None),
    "not Ready in time, pod bound": (registered({"join_deadline": NOW}, bound=1), "mark_ready", "PodsBound", ahead(60)),
    "pod bound, not Ready yet": (registered(bound=1), Wait, "NodeReady", ahead(30)),
    "Ready": (registered(node=node(ready=True, reserved=True)), "mark_ready", "Ready", ahead(60)),
    "Ready after the deadline": (
        registered({"join_deadline": ago(5)}, node=node(ready=True, reserved=True)),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    # Ready: the reservation
    "kept for its pods": (ready(), Wait, "PodsBind", ahead(30)),
    "all pods bound": (ready(awaited=0), "release_node", "PodsBound", None),
    "all pods bound, others wait": (ready(awaited=0, unsettled=2), "mark_settled", "Settled", None),
    "settled, others wait": (
        ready({"settled_at": ago(1)}, awaited=0, unsettled=2),
        Wait,
        "OthersSettle",
        ahead(30),
    ),
    "settled, no other waits": (ready({"settled_at": ago(1)}, awaited=0), "release_node", "PodsBound", None),
    "settled, others wait too long": (
        ready({"settled_at": ago(1), "release_by": NOW}, awaited=0, unsettled=2),
        "release_node",
        "PodsBound",
        None,
    ),
    "settled, a pod was planned later": (
        ready({"settled_at": ago(1)}, awaited=1, unsettled=2),
        Wait,
        "PodsBind",
        ahead(30),
    ),
    "never had pods, others wait": (ready(seats=0, awaited=0, unsettled=2), "release_node", "PodsBound", None),
    "never had pods": (ready(seats=0, awaited=0), "release_node", "PodsBound", None),
    "pods do not come": (ready({"release_by": NOW}), "release_node", "ReleaseTimeout", None),
    "no end of the reservation known": (ready({"release_by": None}), "release_node", "ReleaseTimeout", None),
    "pods planned later": (ready(untolerated=1), "tolerate_pods", "Reserved", None),
    "pods planned later, too late": (ready({"release_by": NOW}, untolerated=1), "release_node", "ReleaseTimeout", None),
    "kept, Node not Ready again": (ready(node=node(reserved=True)), Wait, "PodsBind", ahead(30)),
    "kept, deleted": (ready(deleting=True), "release_node", "Deleted", None),
    "kept, Node joins anew": (ready(node=node(ready=True, unregistered=True)), "register_node", "Registered", None),
    # Ready: the record
    "record": (released(), Wait, "Record", ahead(300)),
    "record, provider silent": (released(server=ServerSeen.UNKNOWN), Wait, "Record", ahead(300)),
    "record, taint left over": (
        released(node=node(ready=True, reserved=True)),
        "release_node",
        "Released",
        None,
    ),
    "record deleted": (released(deleting=True), "finish_request", "Deleted", None),
    "record deleted, taint left over": (
        released(deleting=True, node=node(ready=True, reserved=True)),
        "release_node",
        "Released",
        None,
    ),
    "record is old enough": (released({"expires_at": NOW}), "finish_request", "Expired", None),
    "no end of the record known": (released({"expires_at": None}), "finish_request", "Expired", None),
    "record, Node joins anew": (
        released(node=node(ready=True, unregistered=True)),
        "register_node",
        "Registered",
        None,
    ),
    # Ready: server or Node gone
    "server gone, Node Ready": (released(server=ServerSeen.ABSENT), "finish_request", "ServerGone", None),
    "server gone, Node not Ready": (
        released(server=ServerSeen.ABSENT, node=node()),
        "give_up",
        "ServerGone",
        None,
    ),
    "server gone, kept for its pods": (ready(server=ServerSeen.ABSENT), "finish_request", "ServerGone", None),
    "server absent, 59 s after the call": (
        released({"create_attempt_at": ago(59)}, server=ServerSeen.ABSENT),
        Wait,
        "Record",
        ahead(300),
    ),
    "server gone, made by hand without a call": (
        released({"create_attempt_at": None}, server=ServerSeen.ABSENT),
        "finish_request",
        "ServerGone",
        None,
    ),
    "both gone": (released(server=ServerSeen.ABSENT, node=None), "finish_request", "ServerGone", None),
    "both gone, deleted": (
        released(server=ServerSeen.ABSENT, node=None, deleting=True),
        "finish_request",
        "ServerGone",
        None,
    ),
    "Node gone, server runs": (released(node=None), "give_up", "NodeGone", None),
    "Node gone, server runs, record old enough": (
        released({"expires_at": NOW}, node=None),
        "give_up",
        "NodeGone",
        None,
    ),
    "Node gone, server runs, deleted": (released(node=None, deleting=True), "give_up", "NodeGone", None),
    "Node gone, kept for its pods": (ready(node=None), "give_up", "NodeGone", None),
    "Node gone, server goes": (released(node=None, server=ServerSeen.DELETING), "give_up", "NodeGone", None),
    "Node gone, server perhaps": (
        released({"create_attempt_at": ago(59)}, node=None, server=ServerSeen.ABSENT),
        Wait,
        "ServerAnswer",
        None,
    ),
    "Node gone, provider silent": (released(node=None, server=ServerSeen.UNKNOWN), Wait, "ServerAnswer", None),
    "Node gone, provider silent, record old enough": (
        ready({"expires_at": NOW}, node=None, server=ServerSeen.UNKNOWN),
        Wait,
        "ServerAnswer",
        None,
    ),
    # Unmet, Failed
    "unmet": (seen(RequestPhase.UNMET, {"expires_at": ahead(9), "reason": "SoldOut"}), Wait, "Unmet", ahead(9)),
    "failed": (seen(RequestPhase.FAILED, {"expires_at": ahead(9), "reason": "NameTaken"}), Wait, "Failed", ahead(9)),
    "unmet, over": (seen(RequestPhase.UNMET, {"expires_at": NOW}), "finish_request", "Expired", None),
    "failed, over": (seen(RequestPhase.FAILED, {"expires_at": NOW}), "finish_request", "Expired", None),
    "unmet, no end known": (seen(RequestPhase.UNMET), "finish_request", "Expired", None),
    "unmet, deleted": (
        seen(RequestPhase.UNMET, {"expires_at": ahead(9)}, deleting=True),
        "finish_request",
        "Deleted",
        None,
    ),
    "failed, deleted": (
        seen(RequestPhase.FAILED, {"expires_at": ahead(9)}, deleting=True),
        "finish_request",
        "Deleted",
        None,
    ),
    # Deprovisioning
    "given up": (
        seen(RequestPhase.DEPROVISIONING, {"reason": "JoinTimeout"}),
        "hand_over",
        "JoinTimeout",
        None,
    ),
    "given up, no reason known": (seen(RequestPhase.DEPROVISIONING), "hand_over", "HandOver", None),
    "given up, deleted": (
        seen(RequestPhase.DEPROVISIONING, {"reason": "Cancelled"}, deleting=True),
        "hand_over",
        "Cancelled",
        None,
    ),
}


def check_step(found, step, reason, until):
    """Assert that a step is this effect, or of this type, for this reason, and with this deadline."""
    effect = found.effect if isinstance(found, Act) else type(found)
    assert (effect, found.reason, getattr(found, "until", None)) == (step, reason, until)


@pytest.mark.parametrize(("given", "step", "reason", "until"), ROWS.values(), ids=ROWS)
def test_next_step(given, step, reason, until):
    check_step(next_step(given, NOW), step, reason, until)


def test_every_effect_but_the_look_has_a_row():
    told = {row[1] for row in ROWS.values() if isinstance(row[1], str)}
    assert told == set(RequestEffect) - {RequestEffect.LOOK, RequestEffect.MARK_TRIED, RequestEffect.TELL_DELAY}


def test_every_phase_has_a_row():
    assert {row[0].status.phase for row in ROWS.values()} == set(RequestPhase)
