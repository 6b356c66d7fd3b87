"""What the documents say of names, defaults, numbers and objects, compared with the code that it is about."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.garbage import sweep as garbage
from api import keys
from api.duration import format_duration
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from planner.lifecycle import removal, request
from planner.lifecycle.drain import Refusal
from planner.lifecycle.garbage import Garbage, Guards
from planner.lifecycle.seen import Blocker
from planner.lifecycle.step import DecisionKind
from planner.model.plan import TOO_MUCH
from planner.packing.domains.domain_counts import APART, NEAR, SPREAD, WAITS
from planner.placement.shares.fair import LIMIT_SHARED
from planner.placement.shares.namespace_bounds import NAMESPACE_LIMIT
from planner.policies import next_round as rounds
from planner.policies.expendable import EXPENDABLE
from planner.report.pace import PACED
from planner.report.pool_report import POOL_PAUSED
from planner.supply import unavailable
from planner.supply.lost_places import PLACEMENT_REFUSED
from planner.supply.machine_kind import DRY_RUN, POOL_FROZEN
from tests.project.documents import ROOT, documents, objects
from worker.runtime import keeper
from worker.settings import Settings
from worker.temporal import namespace as temporal
from workflows import policies

CONCEPTS = (ROOT / "docs" / "concepts.md").read_text()
DESIGN = (ROOT / "docs" / "design.md").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
MODELS = {
    model.__name__: model for model in (NodePool, HetznerNodeClass, KwokNodeClass, NodeRequest, NodeRemovalRequest)
}
OWN_KEYS = {
    value
    for name, value in vars(keys).items()
    if isinstance(value, str) and value.startswith("growth.dev/") and name != "API_VERSION"
}
OBJECTS = objects()


def rows(text: str, first: str) -> dict[str, list[str]]:
    """Return the cells behind the first one of each table row that begins with such a piece of code."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        for name in re.findall(rf"`({first})`", cells[0]) if line.startswith("| `") else ():
            found.setdefault(name, cells[1:])
    return found


def test_the_design_names_each_way_to_pause_a_pool_and_where_it_is_shown():
    pause = DESIGN.partition("### Pause\n")[2].partition("\n#")[0]
    keys_of_pause = {key for key in OWN_KEYS if key.startswith("growth.dev/paused")}
    ways = {"spec.paused", "growth pause", "growth resume"}
    assert keys_of_pause | ways | {"growth status", POOL_PAUSED} == set(re.findall(r"`([^`]+)`", pause))


def test_every_key_has_its_row_and_no_other_is_named():
    assert len(OWN_KEYS) >= 15
    told = set(rows(CONCEPTS, r"growth\.dev/[a-z-]+"))
    assert told == OWN_KEYS - {keys.FINALIZER}
    assert f"finalizer `{keys.FINALIZER}`" in CONCEPTS


@pytest.mark.parametrize("document", documents())
def test_no_document_names_what_is_not_there(document: str):
    text = (ROOT / document).read_text()
    allowed = OWN_KEYS | {keys.API_VERSION, "growth.dev/growth"}
    assert set(re.findall(r"(?<![\w/.-])growth\.dev/[a-z0-9-]*[a-z0-9]", text)) <= allowed
    variables = {f"GROWTH_{name.upper()}" for name in Settings.model_fields} | {"GROWTH_CONTROLPLANE", "GROWTH_SEED"}
    assert set(re.findall(r"\bGROWTH_[A-Z_]*[A-Z]\b", text)) <= variables


def test_every_setting_stands_with_its_default():
    told = rows(OPERATIONS, r"GROWTH_[A-Z_]+")
    assert set(told) == {f"GROWTH_{name.upper()}" for name in Settings.model_fields}
    for name, field in Settings.model_fields.items():
        default = field.default
        text = str(default).lower() if isinstance(default, bool) else "" if default in (None, frozenset()) else default
        assert told[f"GROWTH_{name.upper()}"][0] == (f"`{text}`" if text != "" else ""), name


def test_every_phase_and_decision_has_its_row():
    assert set(rows(CONCEPTS, r"[A-Z][a-z]\w+")) >= {*RequestPhase, *RemovalPhase}
    assert set(rows(OPERATIONS, r"[a-z]+")) >= {*DecisionKind} - {DecisionKind.CANCEL}


def test_every_reason_of_a_pod_without_a_place_has_its_row():
    code = "\n".join(path.read_text() for path in (ROOT / "planner").rglob("*.py"))
    reasons = set(re.findall(r"Reason\(\s*\"([A-Z]\w+)\"", code))
    assert len(reasons) >= 10
    assert set(rows(OPERATIONS, r"[A-Z][a-z]\w+")) == {
        *reasons,
        SPREAD,
        APART,
        NEAR,
        WAITS,
        TOO_MUCH,
        request.BUYING_PAUSED,
        request.REAL_CLUSTER,
        PLACEMENT_REFUSED,
        EXPENDABLE,
        LIMIT_SHARED,
        NAMESPACE_LIMIT,
        *PACED,
        POOL_FROZEN,
        DRY_RUN,
    }


def test_everything_that_blocks_a_drain_is_told():
    (table,) = re.findall(r"\| what blocks \|.*?\n\n", OPERATIONS, re.DOTALL)
    assert set(re.findall(r"`([A-Z]\w+)`", table)) >= {*Blocker, *Refusal}


def test_every_kind_of_garbage_and_how_careful_sweeps_are_is_told():
    (table,) = re.findall(r"\| what is found \|.*?\n\n", OPERATIONS, re.DOTALL)
    assert set(re.findall(r"`([A-Z]\w+)`", table)) == set(Garbage)
    assert all(f"`{reason}`" in OPERATIONS for reason in (garbage.KEPT, garbage.UNSEEN))
    guards = Guards()
    assert f"at least {seconds(guards.apart)} apart" in OPERATIONS
    assert f"older than {guards.oldest_young // timedelta(minutes=1)} minutes" in table
    assert f"more than {guards.percent} % of all" in OPERATIONS
    assert f"Every {keeper.PERIOD.seconds} seconds the worker looks for" in OPERATIONS


def seconds(time: timedelta) -> str:
    return f"{time.total_seconds():g} s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CONCEPTS, f"every {seconds(rounds.OPEN_PERIOD)} while\nanything is open"),
        (CONCEPTS, f"else every {seconds(rounds.QUIET_PERIOD)}"),
        (CONCEPTS, f"at the latest {seconds(request.RELEASE_AFTER_READY)} after it was Ready"),
        (CONCEPTS, f"at least {seconds(removal.TAINT_SETTLES_AFTER)} after the taint"),
        (CONCEPTS, f"believed only {seconds(request.BELIEVE_ABSENCE_AFTER)} after"),
        (CONCEPTS, f"at most {format_duration(unavailable.LONGEST)}. Then one machine"),
        (CONCEPTS, f"each time, at most {format_duration(removal.LONGEST_PARKED)} |"),
        (CONCEPTS, f"gets one within {seconds(keeper.PERIOD)}"),
        (OPERATIONS, f"within {keeper.PERIOD.seconds} seconds"),
        (OPERATIONS, f"for {temporal.RETENTION.days} days"),
    ],
)
def test_numbers_are_those_of_the_code(text: str, said: str):
    assert " ".join(said.split()) in " ".join(text.split())


def test_the_longest_pause_is_the_minute_that_is_told():
    assert timedelta(minutes=1) == policies.LONGEST_PAUSE
    assert "up to a minute between two attempts" in CONCEPTS


@pytest.mark.parametrize("item", OBJECTS.values(), ids=OBJECTS)
def test_objects_are_read(item: dict[str, Any]):
    read(MODELS[item["kind"]], item)


def test_every_kind_has_an_example():
    assert {item["kind"] for item in OBJECTS.values()} == set(MODELS)


def test_the_version_of_kubernetes_is_the_one_that_is_tested():
    modules = (ROOT / "tests" / "e2e" / "controlplane" / "go.mod").read_text()
    (minor,) = re.findall(r"k8s\.io/kubernetes v(1\.\d+)\.", modules)
    assert f"tested on Kubernetes {minor} " in OPERATIONS


@pytest.mark.parametrize("document", documents())
def test_links_lead_somewhere(document: str):
    folder = (ROOT / document).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", (ROOT / document).read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (folder / name) if name else ROOT / document
        assert path.exists(), f"{document}: {target}"
        if anchor:
            assert anchor in anchors(path), f"{document}: {target}"


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings. Source: GitHub's rule for section links."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
