"""One list of servers that all share: what is noted while it is on its way is newer than it, what is older is not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from activities.ports.identity import ClusterIdentity
from activities.providers.hetzner.api.facts import ServerFacts
from activities.providers.hetzner.servers.listing import LISTED_FOR_SECONDS, ServerList
from api.keys import LABEL_CLUSTER

RUNNING = ServerFacts(
    id=1,
    name="a-1",
    status="running",
    server_type="cx23",
    location="fsn1",
    labels={LABEL_CLUSTER: "one"},
    created_at=datetime(2026, 11, 1, tzinfo=UTC),
)
MADE = replace(RUNNING, id=2, name="a-2", status="initializing")


class Api:
    """Lists what it had when it was asked; a second passes, and something happens, before the list is there."""

    def __init__(self):
        self.servers_there = [RUNNING]
        self.seconds = 0.0
        self.meanwhile = lambda: None

    async def servers(self, _selector):
        listed = list(self.servers_there)
        self.seconds += 1
        self.meanwhile()
        return listed


@pytest.fixture
def api():
    return Api()


@pytest.fixture
def servers(api):
    return ServerList(api, ClusterIdentity("one"), lambda: api.seconds)


async def test_a_server_made_while_the_list_is_on_its_way_is_known(api, servers):
    api.meanwhile = lambda: servers.note(MADE)
    assert await servers.all() == [RUNNING, MADE]
    # Without a call for it alone, also once the note is no longer fresh and the list still is.
    assert await servers.listed("a-2") == MADE


async def test_a_deletion_asked_for_while_the_list_is_on_its_way_is_known(api, servers):
    api.meanwhile = lambda: servers.note_deleting(RUNNING)
    assert [one.status for one in await servers.all()] == ["deleting"]


async def test_a_note_from_before_the_list_gives_way_to_it(api, servers):
    servers.note_deleting(RUNNING)
    api.seconds += LISTED_FOR_SECONDS
    assert await servers.all() == [RUNNING]
