"""Random histories with faults of every kind; `make simulate` plays hundreds, here are a few."""

import hashlib
import os
import subprocess
import sys
from collections import Counter

import pytest

from activities.ports.ports import ReadyPackers
from planner.packing.fallback.pack import pack
from simulator.campaign import __main__ as command
from simulator.campaign.campaign import Tally, Verdict, judge
from simulator.campaign.history import play
from simulator.campaign.packers import packers_of
from tests.searching import blocks


@pytest.mark.parametrize("seeds", blocks(range(6), 3))
def test_whatever_happens_nothing_is_lost_and_nothing_comes_twice(seeds):
    verdicts = [judge(seed) for seed in seeds]
    wrong = {verdict.seed: verdict.wrong for verdict in verdicts if verdict.wrong}
    assert wrong == {}, f"repeat one: python -m simulator.campaign --seeds 1 --first {min(wrong)}"


WITH_OPTIMISER = 17
"""A history that goes another way when the fallback packs."""


@pytest.mark.parametrize("seed", [8, 2, WITH_OPTIMISER], ids=["without drains", "with drains", "with the optimiser"])
def test_the_history_of_a_seed_is_the_same_in_every_process(seed):
    assert (packers_of(seed).for_round() is not pack) is (seed == WITH_OPTIMISER)
    assert any("drains: " in line for line in play(seed).log) is (seed == 2)
    program = f"from tests.simulator.campaign.test_campaign import digest; print(digest({seed}))"
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hashing, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hashing in ("1", "2")
    }
    assert found == {digest(seed)}


def test_the_optimiser_packs_in_a_tenth_of_the_histories(monkeypatch):
    assert sum(packers_of(seed).for_round() is not pack for seed in range(300)) == 30
    with_optimiser = digest(WITH_OPTIMISER)
    monkeypatch.setattr("simulator.campaign.history.packers_of", lambda _seed: ReadyPackers())
    assert digest(WITH_OPTIMISER) != with_optimiser


def digest(seed):
    return hashlib.sha256("\n".join(play(seed).log).encode()).hexdigest()


def test_one_seed_prints_its_log(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["campaign", "--seeds", "1", "--first", "3"])
    assert command.main() == 0
    told = capsys.readouterr().out
    assert "incarnation 1 begins" in told
    assert "story: all has settled without load" in told
    assert told.endswith("nothing was wrong\n")


def test_a_wrong_history_is_told_with_the_command_that_repeats_it(monkeypatch, capsys):
    def told_of(seed, provider):
        wrong = (f"{provider}: server a was made 3 times",) if seed == 6 else ()
        return Verdict(seed, wrong, Counter({"servers bought": 2}), 60.0)

    monkeypatch.setattr("simulator.campaign.campaign.judge", told_of)
    monkeypatch.setattr(sys, "argv", ["campaign", "--seeds", "3", "--first", "5", "--jobs", "1"])
    assert command.main() == 1
    told = capsys.readouterr().out
    assert "seed 6: kwok: server a was made 3 times" in told
    assert "repeat it: python -m simulator.campaign --seeds 1 --first 6" in told
    assert "3 histories" in told
    assert "1 wrong" in told
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--provider", "hetzner"])
    assert command.main() == 1
    told = capsys.readouterr().out
    assert "seed 6: hetzner: server a was made 3 times" in told
    assert "repeat it: python -m simulator.campaign --provider hetzner --seeds 1 --first 6" in told


def test_a_history_that_breaks_is_wrong(monkeypatch):
    def broken(_seed, _provider):
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [KeyError("spec")])])

    monkeypatch.setattr("simulator.campaign.campaign.play", broken)
    assert judge(4).wrong == ("KeyError: 'spec'\n",)


def test_the_table_tells_how_often_what_happened_and_in_how_many_histories():
    tally = Tally()
    for seed, number in enumerate((3, 0, 2)):
        tally.add(Verdict(seed, (), Counter({"servers bought": number}), 60.0))
    assert tally.table().splitlines()[1].split() == ["servers", "bought", "5", "2"]


def test_only_calls_about_servers_count_for_each_server():
    tally = Tally()
    tally.add(Verdict(0, (), Counter({"servers bought": 2, "call: get": 3, "call for the class: read": 9}), 60.0))
    tally.add(Verdict(1, (), Counter({"servers bought": 2, "call: list": 7}), 60.0))
    assert tally.calls_per_server() == 2.5
