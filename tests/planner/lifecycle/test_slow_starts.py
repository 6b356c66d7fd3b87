"""The steps of a request whose Node starts slowly, or whose scheduler does. Source: docs/decisions/0014."""

import pytest

from planner.lifecycle.request import next_step
from planner.lifecycle.step import Wait
from tests.planner.lifecycle.test_request import NOW, ago, ahead, check_step, node, provisioning, ready, registered


def starting(**flags):
    return node(ready=True, missing="start-up taint x/y:NoSchedule is on it", **{"reserved": True} | flags)


ROWS = {
    # Provisioning: a Node that starts slowly
    "Ready, something missing": (registered(node=starting()), Wait, "Startup", ahead(30)),
    "Ready, something missing, server not seen running": (
        provisioning({"registered_at": ago(1)}, node=starting()),
        "mark_running",
        "Running",
        ahead(240),
    ),
    "Ready, something missing, no pod planned": (
        registered(node=starting(), seats=0, awaited=0),
        Wait,
        "Startup",
        ahead(30),
    ),
    "Ready, something missing, planned pods are there": (
        registered(node=starting(), awaited=0, bound=1),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    "Ready, something missing in the end": (
        registered({"join_deadline": NOW}, node=starting()),
        "release_node",
        "StartupTimeout",
        None,
    ),
    "Ready, something missing in the end, pods of others bound": (
        registered({"join_deadline": NOW}, node=starting(), bound=2),
        "release_node",
        "StartupTimeout",
        None,
    ),
    "Ready, opened although something is missing": (
        registered({"join_deadline": ago(1), "released_at": ago(1)}, node=starting(reserved=False)),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    "Ready, opened early, something missing": (
        registered({"released_at": ago(1)}, node=starting(reserved=False)),
        Wait,
        "Startup",
        ahead(30),
    ),
    "deleted, Ready, something missing": (registered(deleting=True, node=starting()), "give_up", "Cancelled", None),
    "deleted, Ready, something missing, pod bound": (
        registered(deleting=True, node=starting(), bound=1),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    "deleted, Ready, pod bound": (
        registered(deleting=True, node=node(ready=True, reserved=True), bound=1),
        "mark_ready",
        "Ready",
        ahead(60),
    ),
    # Ready: a pod got its seat while something was missing, or it is missing again
    "kept for its pods, something missing": (
        ready({"release_by": NOW}, node=starting(), tried=True),
        Wait,
        "Startup",
        ahead(210),
    ),
    "kept for its pods, something missing, planned later": (
        ready({"release_by": NOW}, node=starting(), untolerated=1),
        "tolerate_pods",
        "Reserved",
        None,
    ),
    "kept for its pods, something missing for too long": (
        ready({"release_by": ago(9), "join_deadline": NOW}, node=starting(), tried=True),
        "mark_tried",
        "Tried",
        ahead(60),
    ),
    "kept for its pods, something missing and no more Ready": (
        ready({"release_by": NOW, "tried_at": ago(60)}, node=node(missing="not-ready", reserved=True)),
        "release_node",
        "ReleaseTimeout",
        None,
    ),
    # Ready: the first try
    "kept for its pods, as they are tried": (ready(tried=True), "mark_tried", "Tried", ahead(60)),
    "kept for its pods, tried before": (ready({"tried_at": ago(30)}, tried=True), Wait, "PodsBind", ahead(30)),
    "not tried yet": (ready({"join_deadline": ahead(9)}, tried=False), Wait, "SchedulerTries", ahead(30)),
    "not tried for a minute": (
        ready({"release_by": NOW, "join_deadline": ahead(300)}, tried=False),
        Wait,
        "SchedulerTries",
        ahead(300),
    ),
    "not tried for a minute, Ready at once": (
        ready({"release_by": NOW}, tried=False),
        Wait,
        "SchedulerTries",
        ahead(210),
    ),
    "not tried, pods planned later": (
        ready({"release_by": NOW, "join_deadline": ahead(300)}, tried=False, untolerated=1),
        "tolerate_pods",
        "Reserved",
        None,
    ),
    "never tried": (
        ready({"release_by": ago(9), "join_deadline": NOW}, tried=False),
        "release_node",
        "NotTried",
        None,
    ),
    "tried once, and no more known": (
        ready({"release_by": NOW, "join_deadline": ahead(300), "tried_at": ago(60)}, tried=False),
        "release_node",
        "ReleaseTimeout",
        None,
    ),
}


@pytest.mark.parametrize(("given", "step", "reason", "until"), ROWS.values(), ids=ROWS)
def test_next_step(given, step, reason, until):
    check_step(next_step(given, NOW), step, reason, until)
