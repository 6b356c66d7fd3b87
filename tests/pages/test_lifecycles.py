"""The page of the lifecycles: it is fresh, it draws what the steps say, and it shows every word."""

import re

import pytest

from pages.atlas import REMOVAL, REQUEST, lines_of
from pages.lifecycles import FILE, drawing, main
from tests.pages.test_atlas import ENDS


@pytest.fixture(scope="module")
def page():
    return drawing()


def diagrams(page):
    return re.findall(r"^```mermaid\nstateDiagram-v2\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def arrows(diagram):
    """The reasons on each arrow."""
    found = re.findall(r"^    (\S+) --> (\S+?)(?:: (.*))?$", diagram, re.MULTILINE)
    return {(begin, end): words.split(", ") if words else [] for begin, end, words in found}


def boxes(diagram):
    """What stands in each box, its title first."""
    found = {}
    for phase, text in re.findall(r"^    (\w+): (.*)$", diagram, re.MULTILINE):
        found.setdefault(phase, []).append(text)
    return found


def test_the_page_of_this_checkout_is_fresh():
    assert main(["--check"]) == 0, "run make drawings"
    assert FILE.name == "lifecycles.md"


def test_an_old_page_is_told_and_written_anew(tmp_path, capsys):
    file = tmp_path / "lifecycles.md"
    assert main(["--check"], file) == 1
    assert capsys.readouterr().err == f"{file} is not what the step functions say: run make drawings\n"
    assert main([], file) == 0
    assert main(["--check"], file) == 0
    file.write_text(f"{file.read_text()}More.\n")
    assert main(["--check"], file) == 1
    assert main([], file) == 0
    assert main(["--check"], file) == 0


def test_the_arrows_of_a_request(page):
    """Source: docs/design.md#phases, and docs/design.md#request."""
    found = arrows(diagrams(page)[0])
    assert set(found) == {
        ("[*]", "Pending"),
        ("Pending", "Provisioning"),
        ("Pending", "Unmet"),
        ("Pending", "Failed"),
        ("Pending", "Deprovisioning"),
        ("Pending", "gone"),
        ("Provisioning", "Ready"),
        ("Provisioning", "Deprovisioning"),
        ("Ready", "Deprovisioning"),
        ("Ready", "gone"),
        ("Unmet", "gone"),
        ("Failed", "gone"),
        ("Deprovisioning", "gone"),
        ("Deprovisioning", "Provisioning"),
        ("gone", "[*]"),
    }
    assert found["Provisioning", "Ready"] == ["Ready", "PodsBound"]
    assert found["Pending", "Unmet"] == [
        "InsufficientCapacity",
        "CreateRefused",
        "QuotaExceeded",
        "RealCluster",
        "OfferingUnavailable",
        "BuyingPaused",
    ]
    assert set(found["Provisioning", "Deprovisioning"]) == {
        "Cancelled",
        "ProvisioningTimeout",
        "JoinTimeout",
        "ServerBroken",
        "ServerGone",
        "NodeGone",
    }


def test_the_arrows_of_a_removal(page):
    """Source: docs/design.md#phases, and docs/design.md#removal."""
    assert {path: set(words) for path, words in arrows(diagrams(page)[1]).items()} == {
        ("[*]", "Pending"): set(),
        ("Pending", "Draining"): {"Draining", "HardGrace"},
        ("Pending", "Deprovisioning"): {"Dead", "Empty", "NodeGone", "HandOver"},
        ("Pending", "gone"): ENDS,
        ("Draining", "Deprovisioning"): {"Dead", "Drained", "NodeGone", "HandOver"},
        ("Draining", "gone"): ENDS,
        ("Deprovisioning", "CouldNotRemove"): {"RemovalFailed"},
        ("Deprovisioning", "gone"): {"Removed", "NotOurs"},
        ("CouldNotRemove", "Deprovisioning"): {"Retry"},
        ("CouldNotRemove", "gone"): {"Abandoned", "Skipped"},
        ("gone", "[*]"): set(),
    }


def test_a_box_tells_what_is_awaited_and_what_is_done(page):
    ready = boxes(diagrams(page)[0])["Ready"]
    assert ready[0] == "Ready"
    assert ready[1].startswith("waits: SchedulerTries, PodsBind, Startup,<br/>Replaces, OthersSettle, Record")
    assert "ReleaseTimeout" in ready[2]
    assert boxes(diagrams(page)[1])["CouldNotRemove"][:2] == ["CouldNotRemove", "waits: Parked"]


@pytest.mark.parametrize("lifecycle", [REQUEST, REMOVAL], ids=lambda lifecycle: lifecycle.kind)
def test_every_reason_and_every_effect_is_explained(page, lifecycle):
    rows = [row for row in page.splitlines() if row.startswith("|")]
    words = {one.reason for one in lines_of(lifecycle) if not one.reason.startswith("<")}
    words |= {one.effect for one in lines_of(lifecycle) if one.effect}
    words |= {outcome.reason for one in lines_of(lifecycle) for outcome in one.outcomes if outcome.reason}
    assert {word for word in words if not any(f"`{word}`" in row for row in rows)} == set()


def test_a_row_reads_as_a_sentence(page):
    """Source: the step functions' own words."""
    assert (
        "| Provisioning | `ServerBoot` | The server boots<br/>"
        "The server is late, but its provider still works on it "
        "| `provisioningDeadline` or 2 times `provisioningTimeout` after `provisioningDeadline`; "
        "then `ProvisioningTimeout` or `ServerBoot` |"
    ) in page
    assert (
        "| Provisioning | `Startup` | The node is Ready and its planned pods cannot land yet: *missing* "
        "| `joinDeadline`; then `StartupTimeout` or `Ready` |"
    ) in page
    assert (
        "| `tolerate_pods` | `PodsRefused` | The planned pods may not be let onto the kept node, so it opens for all. "
        "| as before |"
    ) in page


def test_what_is_the_same_in_two_phases_is_told_once(page):
    assert page.count("| Unmet, Failed | `Expired` | `finish_request` |") == 1
    assert page.count("The offering may be tried again") == 1


def test_no_text_is_lost_when_it_is_shown(page):
    """A name between angle brackets would be taken for HTML, a bar in a cell for its end, a colon for a label's."""
    assert set(re.findall("<[^!>]*>", page)) == {"<br/>"}
    columns = {row.count(" | ") for row in page.splitlines() if row.startswith("|")}
    assert columns == {3, 4}
    for diagram in diagrams(page):
        labels = [label for words in arrows(diagram).values() for label in words]
        assert labels
        assert all(re.fullmatch("([A-Z][a-z]+)+", label) for label in labels)
