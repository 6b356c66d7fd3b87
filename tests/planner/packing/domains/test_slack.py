"""Slack of a spread, against all ways to give pods to few domains."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from planner.objects.kinds import Spread
from planner.packing.domains.domain_counts import SpreadCount
from planner.packing.domains.slack import most_together, slack_of

DOMAINS = "abcd"


def spread_over(counts, skew, min_domains=1):
    spread = Spread("zone", skew, (), min_domains)
    return SpreadCount(spread, own=1, counts=dict(counts))


def keeps(counts, used, skew, is_short):
    """Return whether every domain that got pods is within the skew of the emptiest. Source: PodTopologySpread."""
    least = 0 if is_short else min(counts.values())
    return all(counts[d] - least <= skew for d in used)


@st.composite
def cases(draw):
    domains = DOMAINS[: draw(st.integers(1, 4))]
    before = {d: draw(st.integers(0, 3)) for d in domains}
    open_to = draw(st.sets(st.sampled_from(domains), min_size=1))
    return before, sorted(open_to), draw(st.integers(1, 5)), draw(st.integers(1, 3)), draw(st.booleans())


def ways(before, open_to, number):
    """Yield each way to give so many pods to the domains: pods by domain, and what each got."""
    for way in product(open_to, repeat=number):
        if list(way) == sorted(way):
            got = {d: way.count(d) for d in open_to}
            yield {d: n + got.get(d, 0) for d, n in before.items()}, got


@given(cases())
def test_no_way_that_keeps_the_skew_has_more_pods_in_one_domain(case):
    before, open_to, number, skew, is_short = case
    spread_count = spread_over(before, skew, len(before) + is_short)
    kept = [
        max(got.values())
        for counts, got in ways(before, open_to, number)
        if keeps(counts, [d for d, n in got.items() if n], skew, is_short)
    ]
    if kept:
        assert most_together(spread_count, open_to, number) == max(kept)


@given(cases(), st.integers(0, 5))
def test_pods_that_are_tied_to_no_domain_keep_the_skew_wherever_they_go(case, turn):
    before, open_to, number, skew, is_short = case
    for counts, got in ways(before, open_to, number):
        if not keeps(counts, [d for d, n in got.items() if n], skew, is_short):
            continue
        slack = slack_of(spread_over(counts, skew, len(before) + is_short), got, turn=turn)
        assert all(n <= got[d] for d, n in slack.taken.items())
        rest = {d: n - slack.taken.get(d, 0) for d, n in counts.items()}
        for way in product(slack.open_to, repeat=slack.number):
            there = {d: n + way.count(d) for d, n in rest.items()}
            used = {d for d in open_to if got[d] > slack.taken.get(d, 0)} | set(way)
            assert keeps(there, used, skew, is_short)


def test_one_pod_of_ten_over_three_zones_may_be_in_any():
    slack = slack_of(spread_over({"a": 4, "b": 3, "c": 3}, 1), {"a": 4, "b": 3, "c": 3}, turn=0)
    assert (slack.taken, slack.open_to) == ({"a": 1}, frozenset("abc"))


def test_two_too_many_are_never_both_in_the_same_zone():
    slack = slack_of(spread_over({"a": 4, "b": 4, "c": 3}, 1), {"a": 4, "b": 4, "c": 3}, turn=0)
    assert (slack.taken, slack.open_to) == ({"a": 1}, frozenset("ac"))


def test_groups_take_turns_in_which_zone_is_fuller():
    counts = {"a": 4, "b": 4, "c": 3}
    assert slack_of(spread_over(counts, 1), counts, turn=1).open_to == frozenset("bc")


def test_even_pods_with_a_skew_of_one_are_all_tied():
    assert slack_of(spread_over({"a": 3, "b": 3, "c": 3}, 1), {"a": 3, "b": 3, "c": 3}, turn=0).number == 0


def test_a_larger_skew_ties_fewer_pods():
    slack = slack_of(spread_over({"a": 10, "b": 10, "c": 10}, 5), {"a": 10, "b": 10, "c": 10}, turn=0)
    assert slack.number == 4
    assert slack.open_to == frozenset("abc")


def test_one_machine_has_no_more_of_a_spread_than_one_zone():
    assert most_together(spread_over({"a": 0, "b": 0, "c": 0}, 1), "abc", 5) == 2
    assert most_together(spread_over({"a": 3, "b": 0, "c": 0}, 1), "abc", 5) == 3
