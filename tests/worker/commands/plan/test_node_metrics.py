"""NodeMetrics in files of `growth plan` are samples of usage, and a broken one is left out alone."""

import json
from pathlib import Path

import pytest
import yaml

from worker.commands.plan.command import plan

EXAMPLE = Path(__file__).resolve().parents[4] / "deploy/examples/pools/little-using-machine.yaml"


@pytest.fixture
def planned(tmp_path, capsys):
    """Return a plan of the example with other objects beside it, and what is told on standard error."""

    def run(*objects, now="2026-03-01T12:00:00Z"):
        path = tmp_path / "more.yaml"
        path.write_text(yaml.safe_dump_all(objects))
        assert plan(file=(str(EXAMPLE), str(path)), now=now, output="json") == 0
        printed = capsys.readouterr()
        return json.loads(printed.out), printed.err

    return run


def metrics(at, **usage):
    return {
        "apiVersion": "metrics.k8s.io/v1beta1",
        "kind": "NodeMetrics",
        "metadata": {"name": "default-b"},
        "timestamp": at,
        "usage": usage,
    }


def test_several_of_one_node_are_samples(planned):
    made, told = planned()
    assert [(each["node"], each["reason"]) for each in made["removals"]] == [("default-b", "Underused")]
    assert told == ""
    # One high sample of four in the window is a quarter: more than the fifth that may be.
    made, _ = planned(metrics("2026-03-01T11:54:00Z", cpu="1900m", memory="1Gi"))
    assert made["removals"] == []


def test_a_broken_one_is_named_with_its_file_and_left_out_alone(planned):
    made, told = planned(metrics("2026-03-01T11:54:00Z", cpu="lots", memory="1Gi"))
    assert [each["node"] for each in made["removals"]] == ["default-b"]
    (line,) = [line for line in told.splitlines() if "NodeMetrics" in line]
    assert "more.yaml: NodeMetrics default-b at 2026-03-01T11:54:00Z: usage.cpu:" in line


def test_old_samples_keep_the_machine_and_that_is_told(planned):
    made, _ = planned(now="2026-03-01T13:00:00Z")
    assert made["removals"] == []
    assert {(each["node"], each["reason"]) for pool in made["pools"] for each in pool["blocked"]} == {
        ("default-a", "UsageUnknown"),
        ("default-b", "UsageUnknown"),
    }
