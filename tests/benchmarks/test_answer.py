"""Answers of programs: machines, and what is on none of them."""

import json

from benchmarks.answer import read_answer, write_answer
from planner.packing.problem import PackedNode, Packing
from tests.benchmarks.problems import pods, problem

GIVEN = problem([pods(3, 1, 1, bins={0}), pods(2, 1, 1, bins={0})], [("m", (9, 9), "0.5")])
MEBIBYTE = 1 << 20


def test_an_answer_is_read_as_it_was_written():
    packing = Packing((PackedNode(0, {0: 2, 1: 1}), PackedNode(0, {0: 1})), {1: 1}, proven=7)
    answer = read_answer(GIVEN, write_answer(packing, 1.5, "Growth 1 on Python 3"))
    assert answer.purchase.packing == packing
    assert (answer.purchase.placed, answer.purchase.machines) == (4, 2)
    assert (answer.seconds, answer.versions) == (1.5, "Growth 1 on Python 3")
    # A Python process takes some megabytes, and this one not all of the machine.
    assert 5 * MEBIBYTE < answer.peak_bytes < 10_000 * MEBIBYTE


def test_pods_on_no_machine_have_no_place():
    words = {"machines": [{"offering": 0, "counts": {"1": 2}}], "seconds": 2, "peakBytes": 5, "versions": "v"}
    answer = read_answer(GIVEN, json.dumps(words))
    assert answer.purchase.packing == Packing((PackedNode(0, {1: 2}),), {0: 3})
    assert answer.peak_bytes == 5


def test_pods_that_are_on_machines_too_often_are_no_less_than_none():
    words = {"machines": [{"offering": 0, "counts": {"1": 4}}], "seconds": 2, "peakBytes": 5, "versions": "v"}
    # The checker tells of it; here they are only counted.
    assert read_answer(GIVEN, json.dumps(words)).purchase.packing.unplaced == {0: 3, 1: -2}
