"""What LimitRanges make of DaemonSet pods that do not exist yet.

Source: Kubernetes docs, "Limit Ranges"; plugin/pkg/admission/limitranger/admission.go and admission_test.go.
"""

from typing import Any

import pytest

from planner.objects.kinds import DaemonSet
from planner.parsing.admitted import with_limit_ranges
from planner.parsing.effective_request import effective_request
from planner.parsing.json_part import Part
from planner.parsing.limit_ranges import LimitRanges
from planner.parsing.objects import UnreadableObject, parse_daemon_set, parse_limit_range
from planner.plan import plan
from tests.builders import Json, daemon_set, limit_range, node, pod
from tests.planner.limit_range_cases import CASES
from tests.planner.outcome import planned, types
from tests.planner.scenes import scene
from tests.tables import rows


def agent(*resources: Json, **spec: Any) -> Json:
    """Return a DaemonSet with a container for each of these resources."""
    made = daemon_set("agent", **spec)
    containers = [{"name": f"c{i}", "image": "x", "resources": each} for i, each in enumerate(resources)]
    made["spec"]["template"]["spec"]["containers"] = containers
    return made


def admitted(daemons: Json, *ranges: Json) -> DaemonSet:
    (made,) = with_limit_ranges([parse_daemon_set(daemons)], [daemons], [parse_limit_range(each) for each in ranges])
    return made


def cpu_of(daemons: Json, *ranges: Json) -> int | None:
    return admitted(daemons, *ranges).template.requests.get("cpu")


@rows(
    ("resources", "item", "millicores"),
    {
        "nothing is stated: the default request": ({}, {"defaultRequest": {"cpu": "200m"}}, 200),
        "only the default limit: it is the request too": ({}, {"default": {"cpu": "400m"}}, 400),
        "only a maximum: it is limit and request": ({}, {"max": {"cpu": "2"}}, 2000),
        "only a minimum": ({}, {"min": {"cpu": "50m"}}, 50),
        "the default request before the default limit": (
            {},
            {"default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "4"}, "min": {"cpu": "10m"}},
            100,
        ),
        "a request of its own": ({"requests": {"cpu": "70m"}}, {"defaultRequest": {"cpu": "200m"}}, 70),
        "a limit of its own stands for the request": (
            {"limits": {"cpu": "600m"}},
            {"defaultRequest": {"cpu": "200m"}},
            600,
        ),
        "another resource is not touched": ({"requests": {"memory": "1Gi"}}, {"defaultRequest": {"cpu": "200m"}}, 200),
        "what is for pods gives no defaults": ({}, {"type": "Pod", "min": {"memory": "0"}}, None),
        "what is for claims neither": ({}, {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}, None),
        "a number instead of a text": ({}, {"defaultRequest": {"cpu": 1}}, 1000),
    },
)
def test_containers_get_what_they_do_not_state(resources: Json, item: Json, millicores: int | None):
    assert cpu_of(agent(resources), limit_range("usual", item)) == millicores


@pytest.mark.parametrize("name", CASES)
def test_a_pod_is_admitted_as_by_an_api_server(name):
    """The table is compared with a real one in `make e2e`."""
    case = CASES[name]
    known = LimitRanges(
        parse_limit_range(limit_range(f"l{i}") | {"spec": spec}) for i, spec in enumerate(case.ranges())
    )
    complete = known.completed("kube-system", case.spec())
    assert bool(known.refusal("kube-system", complete)) is (case.millicores is None)
    if case.millicores is not None:
        assert effective_request(Part(complete, "spec")).get("cpu") == case.millicores


def test_each_container_gets_it_and_init_containers_too():
    usual = limit_range("usual", {"defaultRequest": {"cpu": "200m"}})
    assert cpu_of(agent({}, {}, {"requests": {"cpu": "50m"}}), usual) == 450
    init = [{"name": "init", "image": "x"}]
    big = limit_range("usual", {"defaultRequest": {"cpu": "700m"}})
    assert cpu_of(agent({"requests": {"cpu": "50m"}}, initContainers=init), big) == 700


def test_of_several_the_largest_counts_in_the_namespace_of_the_daemon_set_alone():
    low, high = (limit_range(n, {"defaultRequest": {"cpu": n}}) for n in ("100m", "300m"))
    elsewhere = limit_range("usual", {"defaultRequest": {"cpu": "2"}}, namespace="shop")
    assert cpu_of(agent({}), low, high, elsewhere) == 300
    assert cpu_of(agent({}), elsewhere) is None


@rows(
    ("resources", "item", "is_refused"),
    {
        "enough": ({"requests": {"cpu": "100m"}}, {"min": {"cpu": "100m"}}, False),
        "less than the least": ({"requests": {"cpu": "50m"}}, {"min": {"cpu": "100m"}}, True),
        "a limit below the least": (
            {"requests": {"cpu": "100m"}, "limits": {"cpu": "90m"}},
            {"min": {"cpu": "0.1"}},
            True,
        ),
        "a limit above the most": ({"limits": {"cpu": "3"}}, {"max": {"cpu": "2"}}, True),
        "a limit at the most": ({"limits": {"cpu": "2"}}, {"max": {"cpu": "2"}}, False),
        "a request above the default limit": ({"requests": {"cpu": "3"}}, {"max": {"cpu": "2"}}, True),
        "the ratio is kept": (
            {"requests": {"cpu": "1"}, "limits": {"cpu": "1500m"}},
            {"maxLimitRequestRatio": {"cpu": "1.5"}},
            False,
        ),
        "the ratio is passed": (
            {"requests": {"cpu": "1"}, "limits": {"cpu": "1501m"}},
            {"maxLimitRequestRatio": {"cpu": "1.5"}},
            True,
        ),
        "a ratio of what is not stated": ({"requests": {"cpu": "1"}}, {"maxLimitRequestRatio": {"cpu": "2"}}, True),
        "more than a pod may have": ({"limits": {"cpu": "1"}}, {"type": "Pod", "max": {"cpu": "1500m"}}, False),
    },
)
def test_pods_that_are_not_taken(resources: Json, item: Json, *, is_refused: bool):
    assert bool(admitted(agent(resources), limit_range("strict", item)).refusal) is is_refused


def test_the_sum_of_its_containers_counts_for_a_pod():
    strict = limit_range("strict", {"type": "Pod", "max": {"cpu": "1500m"}})
    assert admitted(agent(*[{"limits": {"cpu": "800m"}}] * 2), strict).refusal == (
        "LimitRange strict of namespace kube-system refuses its pods: at most 1500m cpu for each pod, as a limit"
    )


def test_a_machine_has_room_for_the_pods_that_the_first_one_will_have():
    """A cx22 has 2 CPUs, a cx32 has 4: the template asks for nothing, and each of its pods for 300m."""
    usual = limit_range("usual", {"defaultRequest": {"cpu": "300m"}})
    assert types(planned(scene(pod("a", "1800m"), agent({}), types=("cx22", "cx32")))) == ["cx22"]
    made = planned(scene(pod("a", "1800m"), agent({}), usual, types=("cx22", "cx32")))
    assert types(made) == ["cx32"]


def test_pods_that_are_not_taken_need_no_room_unless_there_are_some():
    strict = limit_range("strict", {"max": {"cpu": "100m"}})
    daemons = agent({"requests": {"cpu": "1"}})
    assert types(plan(scene(pod("a", "1800m"), daemons, strict, types=("cx22", "cx32")).snapshot())) == ["cx22"]
    uid = daemons["metadata"]["uid"]
    there = pod("agent-n", "1", node="n", namespace="kube-system", owner=("DaemonSet", uid))
    closed = node("n", spec={"unschedulable": True})
    assert types(planned(scene(pod("a", "1800m"), daemons, strict, closed, there, types=("cx22", "cx32")))) == ["cx32"]


@pytest.mark.parametrize(
    "spec",
    [
        {"limits": "much"},
        {"limits": [1]},
        {"limits": [{"type": 1}]},
        {"limits": [{"type": "Container", "default": []}]},
        {"limits": [{"type": "Container", "min": {"cpu": "much"}}]},
        {"limits": [{"type": "Container", "max": {"cpu": "-1"}}]},
        {"limits": [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "9" * 5000}}]},
        "text",
    ],
)
def test_one_that_cannot_be_read_is_named(spec: object):
    with pytest.raises(UnreadableObject, match="LimitRange kube-system/bad: spec"):
        parse_limit_range(limit_range("bad") | {"spec": spec})


def test_a_template_that_cannot_be_read_stays_as_it_was():
    usual = parse_limit_range(limit_range("usual", {"defaultRequest": {"cpu": "1"}}))
    readable = parse_daemon_set(agent({}))
    for template in (
        {},
        {"spec": None},
        {"spec": {"containers": "none"}},
        {"spec": {"containers": [{"resources": 1}]}},
    ):
        broken = daemon_set("agent") | {"spec": {"template": template}}
        assert with_limit_ranges([readable], [broken], [usual]) == (readable,)
