"""A whole round by stage, and `growth plan` for the same objects."""

import re

from benchmarks import round_time
from benchmarks.dump import Size, objects
from benchmarks.generator import Recipe, draw
from benchmarks.objects import pods_of
from planner.model.plan import PlanResult
from planner.model.stages import STAGES

WAITING = list(pods_of(draw(Recipe(pods=80, shapes=4))))
RUNNING = [item for item in objects(Size(nodes=3, pods=20), 0) if item["kind"] in ("Pod", "Node", "CSINode")]


def test_a_round_buys_for_what_waits_and_tells_the_seconds_of_all_stages():
    done = round_time.run([*RUNNING, *WAITING])
    assert done.made.result is PlanResult.ALL_PLACED
    assert done.made.requests
    assert list(done.seconds) == ["snapshot", *STAGES, "write"]
    assert min(done.seconds.values()) > 0
    assert done.total == sum(done.seconds.values())


def test_a_round_without_anything_that_waits_buys_nothing():
    assert round_time.run(RUNNING).made.result is PlanResult.NO_DEMANDS


def test_the_command_tells_rounds_and_snapshots(capsys, monkeypatch):
    monkeypatch.setattr(round_time, "_SIZES", (100, 200))
    round_time.main(pods=100, nodes=4, shapes=5)
    out = capsys.readouterr().out
    assert "A round, 4 nodes with 100 pods, nothing waits: " in out
    bought = re.search(r"100 pods wait: .*\n  ([\d,]+) pods go to nodes, (\d+) machines are bought; aim: 3 s", out)
    assert bought is not None, out
    assert f"{bought[2]} machines; planning alone: read " in out
    assert re.search(r" 100 pods: \d+\.\d\d s, 1\.00 times as long a pod\n +200 pods: ", out)
