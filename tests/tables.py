"""Tables of cases: each row of a parametrized test is named by a sentence."""

import pytest


def rows(names, table):
    """Run a test once for each row of `table`, whose key becomes the id and whose value the arguments `names`."""
    return pytest.mark.parametrize(names, list(table.values()), ids=list(table))
