"""A whole round by stage, `growth plan` for the same objects, and what is kept of the rows."""

import re
from dataclasses import replace

from benchmarks import round_time
from benchmarks.dump import Size, objects
from benchmarks.generator import Recipe, draw
from benchmarks.live_objects import LiveObjects, a_round_later, stamped
from benchmarks.objects import pods_of
from benchmarks.round_rows import ROWS, RoundCost, RoundRow, RoundTable, read_tables, with_table, write_tables
from planner.model.plan import PlanResult, Snapshot
from planner.model.stages import STAGES
from tests.builders import NOW

WAITING = [stamped(item) for item in pods_of(draw(Recipe(pods=80, shapes=4)))]
RUNNING = [stamped(item) for item in objects(Size(nodes=3, pods=20), 0) if item["kind"] in ("Pod", "Node", "CSINode")]
COST = RoundCost(20, start=1.0, collection=0.5, seconds={"read": 0.5, "pack": 0.25}, mebibytes=100, placed=1, bought=2)
TABLE = RoundTable("2026-01-01", "Growth 1", 2, {"a": COST, "b": COST})


def test_a_round_buys_for_what_waits_and_tells_the_seconds_of_all_stages():
    done = round_time.run(RUNNING, WAITING)
    assert done.made.result is PlanResult.ALL_PLACED
    assert done.made.requests
    assert list(done.seconds) == ["snapshot", *STAGES, "write"]
    assert min(done.seconds.values()) > 0
    assert done.start > 0
    assert done.total == sum(done.seconds.values())


def test_a_round_without_anything_that_waits_buys_nothing():
    assert round_time.run(RUNNING, []).made.result is PlanResult.NO_DEMANDS


def test_a_round_reads_what_is_new_or_has_changed():
    live = LiveObjects()
    before = live.snapshot(RUNNING, Snapshot(now=NOW))
    later = a_round_later(RUNNING)
    assert sum(new is not old for new, old in zip(later, RUNNING, strict=True)) == 1
    after = live.snapshot([*later, *WAITING], Snapshot(now=NOW))
    assert before.pods == after.pods[: len(before.pods)]
    # What has its version still is the same object: it was not read again.
    assert sum(new is not old for new, old in zip(after.pods, before.pods, strict=False)) == 1
    assert len(after.pods) == len(before.pods) + len(WAITING)


def test_a_row_is_measured(monkeypatch):
    monkeypatch.setattr(round_time, "warm", lambda: None)
    cost = round_time.measured_row(RoundRow(0, 2, 12))
    assert (cost.running, cost.placed, cost.bought) == (12, 0, 0)
    assert cost.mebibytes > 20
    assert cost.start > 0
    assert list(cost.seconds) == ["snapshot", *STAGES, "write"]


def test_a_look_at_consolidation_is_told_beside_a_round_that_is_not_due_for_one():
    done = round_time.run(RUNNING, [])
    assert done.made.potential is None
    assert done.look > 0
    assert round_time.run(RUNNING, WAITING).look == 0


def test_pods_of_many_namespaces_wait_each_with_a_bound_of_its_own(monkeypatch):
    monkeypatch.setattr(round_time, "warm", lambda: None)
    # Two pods of each, and a machine a namespace is enough.
    assert round_time.measured_row(RoundRow(20, 0, 0, namespaces=10)).bought >= 1
    done = round_time.run([], WAITING, {"perNamespace": {"cpu": "0"}})
    assert not done.made.requests
    assert {unplaced.reasons[0].code for unplaced in done.made.unplaced} == {"NamespaceLimit"}


def test_names_of_rows_differ_and_tell_their_sizes():
    assert [str(row) for row in ROWS][:2] == ["none x 1,000 (10,000)", "none x 5,000 (10,000)"]
    assert len({str(row) for row in ROWS}) == len(ROWS)
    assert str(RoundRow(50_000, 0, 0)) == "50,000 x none"
    assert str(RoundRow(10_000, 0, 0, namespaces=1_000)) == "10,000 of 1,000 namespaces x none"


def test_what_is_kept_is_read_and_a_version_that_is_measured_again_has_its_new_figures(tmp_path):
    path = tmp_path / "round_time.json"
    assert read_tables(path) == []
    write_tables([TABLE], path)
    assert read_tables(path) == [TABLE]
    dearer = replace(COST, start=2.0)
    again, next_one = replace(TABLE, rows={"b": dearer}), replace(TABLE, version="Growth 2")
    assert with_table([TABLE], again) == [replace(TABLE, rows={"a": COST, "b": dearer})]
    assert with_table([TABLE], next_one) == [TABLE, next_one]


def test_the_kept_tables_are_of_these_rows():
    tables = read_tables()
    assert len({table.version for table in tables}) == len(tables) > 1
    for table in tables:
        assert set(table.rows) <= {str(row) for row in ROWS}, table.version
        assert all(cost.total > 0 and cost.mebibytes > 0 for cost in table.rows.values())
    # Whatever was measured of a version, it compares with what was measured first, but for a row that came later.
    later = {str(row) for row in ROWS if row.namespaces > 1}
    assert all(set(table.rows) - later <= set(tables[0].rows) for table in tables)


def test_the_rows_are_shown_with_what_was_measured_first(capsys, monkeypatch):
    # Here and not in a process of its own, which would not know the stand-in.
    class Here:
        def __init__(self, *_args, **_more): ...
        def __enter__(self):
            return self

        def __exit__(self, *_error): ...
        def submit(self, _measure, _row):
            return self

        def result(self):
            return replace(COST, seconds={"read": 0.125})

    monkeypatch.setattr(round_time, "ProcessPoolExecutor", Here)
    monkeypatch.setattr(round_time, "read_tables", lambda: [replace(TABLE, rows={str(ROWS[0]): COST})])
    round_time.main(row=(str(ROWS[0]),))
    out = capsys.readouterr().out
    assert re.search(r"none x 1,000 \(10,000\) +│ 0\.12 +│ 0\.12 +│ 0\.15 +│ 0\.75 ", out), out


def test_the_command_tells_rounds_and_snapshots(capsys, monkeypatch):
    monkeypatch.setattr(round_time, "_SIZES", (100, 200))
    round_time.main(pods=100, nodes=4, shapes=5)
    out = capsys.readouterr().out
    assert "A round, 4 nodes with 100 pods, nothing waits: " in out
    bought = re.search(r"100 pods wait: .*\n  ([\d,]+) pods go to nodes, (\d+) machines are bought; aim: 3 s", out)
    assert bought is not None, out
    assert f"{bought[2]} machines; planning alone: read " in out
    assert re.search(r" 100 pods: \d+\.\d\d s, 1\.00 times as long a pod\n +200 pods: ", out)
