"""Golden rows of the seed "VPSie" on growth, table 2B of the reference page on node autoscalers.

Its group adds one machine at a time, waits until it is Ready, and for a while after that. Rows 3, 5, 10, 11 and 24 to
38 are about shrinking; 17 is what selectors mean here; 18 and 20 score groups, for which pools have prices and
priorities; 23 isolates groups by a label, as only NodePools are read here; 40 to 44 are its optimiser and client; 45 to
49 its options. There is no stored number of machines: a round buys for what it sees.
"""

import pytest

from planner.parsing.objects import parse_pod
from tests.builders import before, kwok_node_class, node, node_request, pod, server_type
from tests.planner.outcome import codes, planned, types
from tests.planner.scenes import scene


def asked(name, *, ready=True, ago=60):
    """Return a machine that a round asked for some seconds ago, with its Node if it is Ready."""
    at = before(seconds=ago)
    status = {"phase": "Ready", "readyAt": at, "releasedAt": at} if ready else {"phase": "Provisioning"}
    request = node_request(name, metadata={"creationTimestamp": at}, createAttemptAt=at, **status)
    return [request, node(name)] if ready else [request]


def fleet(current, wanted, *, most, least=0, in_flight=0, **scale_up):
    """Return full machines, some of them not Ready, and waiting pods for as many as are wanted beyond them."""
    machines = [each for k in range(current) for each in asked(f"m-{k}", ready=k >= in_flight)]
    full = [pod(f"on-{k}", "2", "1Gi", node=f"m-{k}") for k in range(in_flight, current)]
    waiting = [pod(f"p-{k}", "2", "1Gi") for k in range(wanted - current)]
    limits = {"max": most} | ({"min": least} if least else {})
    return scene(*machines, *full, *waiting, types=("cx22",), limits=limits, scaleUp=scale_up)


@pytest.mark.parametrize(("wanted", "number"), [(0, 2), (5, 5), (1, 2), (15, 10)])
def test_row_1_what_is_wanted_within_min_and_max(wanted, number):
    # Source: test.
    assert len(planned(fleet(0, wanted, most=10, least=2)).requests) == number


@pytest.mark.parametrize(
    ("row", "current", "wanted", "most", "more"),
    [(2, 3, 5, 10, 2), (2, 5, 5, 10, 0), (2, 5, 10, 5, 0), (4, 3, 5, 10, 2), (4, 5, 10, 7, 2), (4, 5, 5, 10, 0)],
)
def test_rows_2_and_4_how_many_to_add(row, current, wanted, most, more):
    # Source: test.
    assert (row, len(planned(fleet(current, wanted, most=most)).requests)) == (row, more)


@pytest.mark.parametrize(("wanted", "grows"), [(5, False), (7, True)])
def test_rows_7_and_8_whether_it_needs_more(wanted, grows):
    # Source: test. What it needs less of is for the rows on shrinking.
    assert bool(planned(fleet(wanted - 2 * grows, wanted, most=10, least=2)).requests) == grows


@pytest.mark.parametrize(("in_flight", "more"), [(0, 1), (2, 0)])
def test_rows_6_and_21_one_at_a_time_once_all_are_ready(in_flight, more):
    # Source: test. `maxInFlight: 1` is that it waits until all are Ready, `batchMax: 1` that it adds one.
    given = fleet(3, 8, most=10, in_flight=in_flight, batchMax=1, maxInFlight=1)
    assert len(planned(given).requests) == more


def test_row_21_two_and_two_ready():
    # Source: test.
    made = planned(fleet(2, 4, most=5, batchMax=1))
    assert (len(made.requests), set(codes(made).values())) == (1, {"BatchMax"})


def test_row_12_the_preferred_type():
    # Source: test. Preferred is of a higher priority; without one the cheapest that fits, not the first of the list.
    def bought(*entries):
        kinds = [server_type("o1", pricePerHour="1"), server_type("o2", pricePerHour="2")]
        return types(planned(scene(pod("a", "1", "512Mi"), kwok_node_class(*kinds), types=entries, scaleUp=CHOICE)))

    CHOICE = {"choose": "priority"}  # noqa: N806
    assert bought("o1", {"name": "o2", "priority": 1}) == ["o2"]
    assert bought("o1", {"name": "o9", "priority": 1}) == ["o1"]
    assert bought("o1", "o2") == ["o1"]


@pytest.mark.parametrize(
    ("row", "containers", "init", "cpu", "memory"),
    [
        (13, [("500m", "1Gi"), ("250m", "512Mi")], [], 750, 1536),
        (14, [("500m", "1Gi")], [("1000m", "2Gi")], 1000, 2048),
        (14, [("1000m", "2Gi")], [("500m", "1Gi")], 1000, 2048),
    ],
)
def test_rows_13_and_14_what_a_pod_requests(row, containers, init, cpu, memory):
    # Source: test.
    def listed(each):
        return [{"name": f"c{k}", "resources": {"requests": {"cpu": c, "memory": m}}} for k, (c, m) in enumerate(each)]

    made = pod("a", None, None)
    made["spec"] |= {"containers": listed(containers), "initContainers": listed(init)}
    requests = parse_pod(made).requests
    assert (row, requests["cpu"], requests["memory"]) == (row, cpu, memory * 1024**2)


def test_ambiguity_c1_the_batch_has_a_size():
    # The seed names a ScaleUpBatchSize that the public code does not have.
    assert len(planned(fleet(0, 9, most=10, batchMax=3)).requests) == 3
    assert len(planned(fleet(0, 9, most=10, batchMax=0)).requests) == 9


@pytest.mark.parametrize(("cooldown", "more"), [("0s", 1), ("1m", 0), ("30s", 1)])
def test_ambiguity_c2_a_cooldown_of_0_is_off(cooldown, more):
    # There, 0 is the default of 60 s.
    given = fleet(0, 1, most=10, cooldown=cooldown)
    given.requests += asked("m", ago=30)[:1]
    made = planned(given)
    assert len(made.requests) == more
    assert set(codes(made).values()) == ({"PurchaseCooldown"} if not more else set())
