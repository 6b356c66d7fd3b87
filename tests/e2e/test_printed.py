import pytest

from tests.e2e.printed import differences

PRINTED = """NAME                 POOL      REMOVAL AT                    PHASE     AGE
default-1db2dd60f9   default   2026-11-28T07:31:49.868617Z   Pending   4s
default-73719ff2b1   default   2026-11-28T07:31:49.863353Z   Pending   4s

Awaited until 07:31:49 (in 4m53s): it goes if it is empty.
"""


@pytest.mark.parametrize(
    "documented",
    [
        PRINTED,
        "default-0000000000 default 2020-01-01T00:00:00Z Pending 2m1s",
        "…\nAwaited until 23:59:59 (in 1h2m3s): it goes if it is empty.",
        "NAME POOL …\n…\nAwaited until 11:11:11 …",
    ],
    ids=["the same", "names, times and widths", "lines left out", "ends left out"],
)
def test_what_differs_each_time_is_no_difference(documented: str):
    assert differences(documented, PRINTED) == []


@pytest.mark.parametrize(
    ("documented", "missing"),
    [
        ("default-0000000000 default 2020-01-01T00:00:00Z Ready 4s", 1),
        ("default-0000000000 default 2020-01-01T00:00:00Z Pending 4s\n" * 3, 1),
        ("Awaited until 07:31:49 (in 4m53s): it goes if it is empty.\nNAME …", 1),
        ("Nothing of this\nwas printed …", 2),
    ],
    ids=["another word", "too many lines", "another order", "something else"],
)
def test_what_was_not_printed_is_told(documented: str, missing: int):
    assert len(differences(documented, PRINTED)) == missing
