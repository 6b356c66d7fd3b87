"""Offerings that a provider says are sold out, which was seen to be wrong: one machine is tried first."""

from dataclasses import replace

from planner.plan import plan
from planner.supply.machine_kind import kinds_of_pools
from tests.builders import before, node_request, pod, server_type
from tests.planner.scenes import scene


def snapshot(*pods, kinds=("cx22",), requests=(), unavailable=None, **told):
    """A snapshot whose cx22 offerings are as `told`."""
    kinds_listed = [server_type(kind) for kind in kinds]
    given = scene(*pods, types=kinds, kinds=kinds_listed, unavailable=unavailable, requests=list(requests))
    made = given.snapshot()
    (only,) = made.classes
    offerings = tuple(replace(o, **told) if o.server_type == "cx22" else o for o in only.offerings)
    return replace(made, classes=(replace(only, offerings=offerings),))


def bought(given):
    return [r.server_type for r in plan(given).requests]


def large(count):
    return [pod(f"p-{number}", "2") for number in range(count)]


def had(phase="Provisioning", **ago):
    return node_request(
        "m-1", phase=phase, createAttemptAt=before(**ago), readyAt=before(**ago), releasedAt=before(**ago)
    )


def test_one_machine_of_a_doubtful_offering_is_tried_first():
    assert bought(snapshot(*large(3), is_doubtful=True)) == ["cx22"]
    assert bought(snapshot(*large(3))) == ["cx22"] * 3


def test_the_pods_beyond_the_trial_get_dearer_machines_meanwhile():
    assert sorted(bought(snapshot(*large(3), kinds=("cx22", "cx32"), is_doubtful=True))) == ["cx22", "cx32"]


def test_no_second_machine_is_tried_while_the_first_was_not_answered():
    pending = node_request("m-1", createAttemptAt=before(seconds=1))
    assert bought(snapshot(*large(3), requests=[pending], is_doubtful=True)) == []


def test_a_machine_that_was_had_lately_ends_the_doubt():
    for phase in ("Provisioning", "Ready"):
        given = snapshot(*large(4), requests=[had(phase, minutes=2)], is_doubtful=True)
        assert not kinds_of_pools(given)["default"].kinds[0].is_probe, phase
        assert len(bought(given)) >= 3, phase


def test_a_machine_that_was_had_long_ago_or_elsewhere_proves_nothing():
    elsewhere = had(minutes=2)
    elsewhere["spec"]["location"] = "nbg1"
    for proof in (had("Ready", minutes=61), elsewhere):
        (kind,) = kinds_of_pools(snapshot(requests=[proof], is_doubtful=True))["default"].kinds
        assert kind.is_probe


def test_after_a_miss_only_a_machine_had_since_its_wait_ends_the_doubt():
    missed = [
        {
            "serverType": "cx22",
            "location": "fsn1",
            "failures": 1,
            "lastFailureAt": before(minutes=9),
            "until": before(minutes=4),
        }
    ]
    for minutes, is_probe in ((5, True), (3, False)):
        given = snapshot(requests=[had(minutes=minutes)], unavailable=missed, is_doubtful=True)
        (kind,) = kinds_of_pools(given)["default"].kinds
        assert kind.is_probe is is_probe


def test_why_an_offering_is_not_to_be_had_is_told_as_the_provider_says_it():
    for told, message in (
        ({}, "cx22 in fsn1 is sold out, says the provider"),
        (
            {"unavailable_because": "is no longer sold since 2026-02-01"},
            "cx22 in fsn1 is no longer sold since 2026-02-01",
        ),
    ):
        (unplaced,) = plan(snapshot(pod("a"), available=False, **told)).unplaced
        assert [(r.code, r.message) for r in unplaced.reasons] == [("OfferingUnavailable", message)]
