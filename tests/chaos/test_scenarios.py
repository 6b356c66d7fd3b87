"""Faults of the API server, of people and of the cloud, each a scenario with a name."""

import pytest

from tests.chaos.play import all_of, play
from tests.chaos.scenarios import KUBERNETES, PROVIDER
from tests.chaos.table import keep, rows

BY_NAME = {one.name: one for one in (*KUBERNETES, *PROVIDER)}
AT_ONCE = 12

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def known():
    """How the scenarios ended."""
    return {}


@pytest.fixture
async def ends(request, service, known):
    """Play all scenarios that are wanted at the same time, once."""
    if not known:
        asked = [item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")]
        wanted = [BY_NAME[name] for name in asked if name in BY_NAME]

        async def one(scenario):
            return await play(
                service,
                scenario.story,
                scenario.name,
                cluster=scenario.cluster,
                provider=scenario.provider,
                is_met=scenario.is_met,
                also=scenario.also,
            )

        known.update({end.what: end for end in await all_of(wanted, one, AT_ONCE)})
        for name, of in (("Kubernetes faults", KUBERNETES), ("provider faults", PROVIDER)):
            played = {each.name: [known[each.name]] for each in of if each.name in known}
            if len(played) == len(of):
                keep(name, rows(played, (name.capitalize(), "Runs", "Outcome")))
    return known


@pytest.mark.parametrize("name", BY_NAME)
async def test_the_world_is_right_after(ends, name):
    assert not ends[name].wrong, str(ends[name])
    assert ends[name].met, f"{name}: the fault was never met"
