"""Histories in which a Node of a real cloud comes and goes beside simulated machines.

Source: issue 17, section 5 (no simulated machine is bought beside a real Node unless the worker is told to).
"""

import pytest

from simulator.campaign.actors.real_nodes import KNOWN_SECONDS
from simulator.campaign.campaign import catch
from simulator.campaign.history import play
from simulator.campaign.mutations.real_nodes import REAL_NODE_MUTATIONS

BARRED, ALLOWED = 13, 88
"""Seeds of histories in which more machines are wanted while the Node is there."""


def moments(log, *words):
    """Return the seconds of each line with these words."""
    return [float(line.split()[0]) for line in log if all(word in line for word in words)]


@pytest.mark.parametrize(("seed", "is_bought"), [(BARRED, False), (ALLOWED, True)])
def test_beside_a_real_node_machines_are_bought_only_if_that_is_allowed_and_afterwards_in_any_case(seed, is_bought):
    played = play(seed)
    assert played.wrong == ()
    assert played.counts[f"real Node{', allowed' if is_bought else ''}"] == 1
    (came,), (went,) = moments(played.log, "a real Node joins"), moments(played.log, "the real Node goes")
    asked = moments(played.log, "create_server")
    assert any(came + KNOWN_SECONDS < moment < went for moment in asked) is is_bought
    # What was wanted all the time is bought in the round that the end of the Node asks for.
    assert any(went < moment < went + 2 for moment in asked) is not is_bought


@pytest.mark.parametrize("mutation", REAL_NODE_MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_round_that_ignores_real_nodes_is_found(mutation):
    assert catch(mutation).violation.endswith("is made beside a real Node")
