"""What docs/hetzner.md and docs/operations.md say of Hetzner, compared with the code that it is about."""

import re
from datetime import timedelta

import pytest

from activities.ports.provider import ServerOrder
from activities.providers.hetzner import class_keeper
from activities.providers.hetzner.classes import catalogue, kubelet
from activities.providers.hetzner.classes import check as class_check
from activities.providers.hetzner.classes.user_data import given_values
from activities.providers.hetzner.servers import actions as pending
from activities.providers.hetzner.servers import listing as servers
from activities.providers.hetzner.servers import placement_groups as placement
from activities.providers.hetzner.servers.unfinished import YOUNG_FOR
from api.duration import format_duration
from api.v1alpha1.hetzner_node_class import LONGEST_USER_DATA, HetznerKubelet, HetznerNodeClassSpec
from api.v1alpha1.pool_parts.scale_up import ScaleUp
from planner.lifecycle import request
from planner.supply import unavailable
from simulator.hetzner.project import project
from tests.activities.providers.hetzner import test_calls
from tests.project.documents import ROOT

HETZNER = (ROOT / "docs" / "hetzner.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
WORDS = {3: "three", 10: "ten", 15: "fifteen", 50: "fifty"}
"""As numbers stand in the text."""
ORDER = ServerOrder(name="a", server_type="cx23", location="fsn1", labels={}, node_labels={}, node_taints=[])


def table(text: str, header: str) -> list[list[str]]:
    """Return the cells of each row of the table whose header begins so."""
    (found,) = re.findall(rf"^\| {re.escape(header)} \|.*?\n\n", text, re.DOTALL | re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found.split("\n")[2:] if line]


def first_cells(header: str) -> list[str]:
    """Return the pieces of code in the first cell of each row of a table of docs/hetzner.md."""
    return [name for row in table(HETZNER, header) for name in re.findall(r"`([\w.]+)`", row[0])]


def test_every_field_of_the_class_has_its_row():
    fields = {field.alias or name for name, field in HetznerNodeClassSpec.model_fields.items()}
    assert set(first_cells("field")) == fields


def test_every_variable_that_growth_gives_has_its_row():
    assert set(first_cells("variable")) == set(given_values(HetznerKubelet(), ORDER))


def test_every_condition_of_a_class_has_its_row():
    assert first_cells("condition") == list(class_check.OWN_CONDITIONS)


def test_every_reason_of_a_condition_is_told_with_what_helps():
    classes = ROOT / "activities" / "providers" / "hetzner" / "classes"
    code = "\n".join((classes / name).read_text() for name in ("check.py", "join_text.py"))
    reasons = set(
        re.findall(r"(?:[\[(]\s*|yield |return |None,\s*|False,\s*|reason=)\"([A-Z]\w*[a-z]\w*)\"[,\n]", code)
    )
    told = reasons | {catalogue.UNREACHABLE}
    assert len(told) >= 9
    rows = table(OPERATIONS, "condition | reason")
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row[1])} == told
    assert [row[0] for row in rows if row[0]] == list(class_check.OWN_CONDITIONS)


def most_calls() -> list[float]:
    """Return the calls per machine that the test of them allows, as it is parametrised."""
    (mark,) = (each for each in test_calls.test_a_machine_costs_few_calls.pytestmark if each.name == "parametrize")
    return [most for _, most in mark.args[1]]


def test_calls_per_machine_are_within_what_the_test_of_them_allows():
    told = [float(calls) for calls in re.findall(r"^\|[^|]+\| (\d\.\d)\b", HETZNER, re.MULTILINE)]
    allowed = most_calls()
    assert len(told) == len(allowed)
    assert all(calls <= most for calls, most in zip(told, allowed, strict=True))


@pytest.mark.parametrize(
    "said",
    [
        f"one list each {servers.LISTED_FOR_SECONDS:g} s",
        f"one call each {pending.POLL_SECONDS:g} s",
        f"{float(kubelet._MEMORY_USABLE):.1%} of its memory".replace("%", " %"),
        f"{float(kubelet._DISK_USABLE):.0%} of its disk".replace("%", " %"),
        f"younger than {WORDS[YOUNG_FOR // timedelta(minutes=1)]} minutes",
        f"longer than {LONGEST_USER_DATA // 1024} KiB",
        f"`scaleUp.unavailableTTL` ({format_duration(ScaleUp().unavailable_ttl)})",
        f"for {unavailable.FIRST_PAUSE // timedelta(minutes=1)} min, twice as long each further time",
        f"at most {format_duration(unavailable.LONGEST)}; the pods are planned",
        f"read from Hetzner every {WORDS[class_keeper.PERIOD // timedelta(minutes=1)]} minutes",
        f"{WORDS[placement.MOST_MEMBERS]} in each",
        f"{WORDS[project.GROUPS]} groups",
        f"{WORDS[request.TIMEOUTS_WHILE_IT_PROGRESSES]} times as long while Hetzner still works",
    ],
)
def test_numbers_are_those_of_the_code(said: str):
    assert " ".join(said.split()) in " ".join(HETZNER.split())
