"""The cheapest cover, beside all that there are."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from planner.placement.threshold.cover import Offer, cheapest_cover, largest_cover

AMOUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6))
OFFERS = st.lists(
    st.builds(
        Offer,
        st.integers(0, 9),
        AMOUNTS,
        st.one_of(st.just({0: 1}), st.just({0: 1, 1: 2}), st.just({})),
    ),
    min_size=1,
    max_size=3,
)


def price(counts, offers):
    return sum(n * offer.price for n, offer in zip(counts, offers, strict=True)), sum(counts)


def is_within(counts, offers, left):
    return all(
        sum(n * offer.limits.get(row, 0) for n, offer in zip(counts, offers, strict=True)) <= most
        for row, most in enumerate(left)
    )


def covers(counts, offers, missing):
    has = [sum(n * offer.amounts[r] for n, offer in zip(counts, offers, strict=True)) for r in (0, 1)]
    return all(amount >= wanted for amount, wanted in zip(has, missing, strict=True))


@given(st.tuples(st.integers(-3, 12), st.integers(-3, 12)), OFFERS, st.tuples(st.integers(0, 6), st.integers(0, 6)))
def test_no_cover_is_cheaper(missing, offers, left):
    every = [
        counts
        for counts in product(range(13), repeat=len(offers))
        if is_within(counts, offers, left) and covers(counts, offers, missing)
    ]
    found = cheapest_cover(missing, offers, left)
    if found is None:
        assert every == []
        most = largest_cover(missing, offers, left)
        assert is_within(most, offers, left)
        # Nothing more that helps is allowed.
        for k, offer in enumerate(offers):
            more = [n + (i == k) for i, n in enumerate(most)]
            has = [sum(n * each.amounts[r] for n, each in zip(most, offers, strict=True)) for r in (0, 1)]
            helps = any(m > h and a > 0 for m, h, a in zip(missing, has, offer.amounts, strict=True))
            assert not (helps and is_within(more, offers, left))
    else:
        assert is_within(found, offers, left)
        assert covers(found, offers, missing)
        assert price(found, offers) == min(price(counts, offers) for counts in every)


@given(st.integers(1, 300), st.integers(1, 200), st.integers(1, 4000), st.integers(0, 400_000), st.integers(0, 400_000))
def test_for_one_type_it_is_the_formula(nodes, threshold, size, cpu, memory):
    # Source: max_r ceil(n (100 req - T C) / (T C)), in exact integers.
    capacity = nodes * size
    missing = tuple(100 * asked - threshold * capacity for asked in (cpu, memory))
    formula = max(-(-nodes * one // (threshold * capacity)) for one in missing)
    offer = Offer(1, (threshold * size, threshold * size), {})
    assert cheapest_cover(missing, [offer], ()) == (max(0, formula),)


def test_a_mix_is_cheaper_than_each_alone():
    offers = [Offer(10, (8, 8), {}), Offer(3, (2, 2), {})]
    assert cheapest_cover((10, 10), offers, ()) == (1, 1)


def test_many_kinds_and_machines_end_soon():
    offers = [Offer(97 + 31 * k, (1000 + 313 * k, 2000 + 401 * k), {0: 1}) for k in range(20)]
    found = cheapest_cover((1_000_000, 1_500_000), offers, (100_000,))
    assert found is not None
    assert covers(found, offers, (1_000_000, 1_500_000))
