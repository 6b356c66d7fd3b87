"""What a real API server makes of pods by LimitRange, for the table that `growth plan -f` is tested with."""

import contextlib

import pytest

from planner.parsing.effective_request import effective_request
from planner.parsing.json_part import Part
from tests.e2e.api_server import Refused
from tests.e2e.harness import ControlPlane
from tests.planner.limit_range_cases import CASES, Case

pytestmark = pytest.mark.e2e


def in_namespace(number: int, body: dict) -> dict:
    return {**body, "metadata": {**body["metadata"], "namespace": f"limits-{number}"}}


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane) -> ControlPlane:
    """A control plane with a namespace for each case."""
    for number, case in enumerate(CASES.values()):
        control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"limits-{number}"}})
        for index, spec in enumerate(case.ranges()):
            limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": f"l{index}"}, "spec": spec}
            control_plane.api.create(in_namespace(number, limits))
    return control_plane


def answer(cluster: ControlPlane, number: int, case: Case) -> tuple[int | None, str]:
    """Return the millicores that the pod asks for as it is stored, or why it is not."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": case.spec()}
    try:
        stored = cluster.api.create(in_namespace(number, pod), dryRun="All")
    except Refused as refused:
        return None, str(refused)
    return effective_request(Part(stored["spec"], "spec")).get("cpu"), ""


@pytest.mark.parametrize("name", CASES)
def test_the_table_says_what_the_api_server_does(cluster, name):
    case, number = CASES[name], list(CASES).index(name)

    def is_so() -> bool:
        millicores, refusal = answer(cluster, number, case)
        return millicores == case.millicores and case.refused_for in refusal

    # The plug-in hears of LimitRanges by a watch.
    with contextlib.suppress(AssertionError):
        cluster.wait_for(is_so, name, 5)
    millicores, refusal = answer(cluster, number, case)
    assert millicores == case.millicores, refusal
    assert case.refused_for in refusal
