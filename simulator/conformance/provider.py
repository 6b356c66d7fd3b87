"""What every provider must do, whatever its cloud: checks that any package can run against its own.

A test makes a `Stage` for each check and awaits it; no test framework is needed:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_conformance(check):
        asyncio.run(check(my_stage()))

A check that does not hold raises `AssertionError`.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from activities.ports.cluster import Object
from activities.ports.errors import GrowthError, InvalidConfiguration, NotFound
from activities.ports.provider import Provider, Server, ServerOrder, ServerState
from api.keys import (
    LABEL_ABANDONED,
    LABEL_ARCH,
    LABEL_CLUSTER,
    LABEL_INSTANCE_TYPE,
    LABEL_POOL,
    LABEL_REGION,
    LABEL_REQUEST,
    LABEL_REQUEST_UID,
    TAINT_UNREGISTERED,
)

CLUSTER: Final = "one"
"""The cluster whose servers the checks make: what is asked of the provider names it."""
NAME: Final = "default-a1"
LABELS: Final = {
    LABEL_CLUSTER: CLUSTER,
    LABEL_POOL: "default",
    LABEL_REQUEST: NAME,
    LABEL_REQUEST_UID: "0f",
}
ORDER: Final = ServerOrder(
    name=NAME,
    server_type="",
    location="",
    labels=LABELS,
    node_labels={LABEL_POOL: "default"},
    node_taints=[{"key": TAINT_UNREGISTERED, "effect": "NoSchedule"}],
)
_SHORT_SECONDS: Final = 60
"""By then a new server can be changed: a cloud may refuse that while it is being made."""
_LONG_SECONDS: Final = 600
"""By then a server runs, and one that was deleted is gone."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A provider without servers, and what a check must know of its cloud."""

    provider: Provider
    node_class: Object
    """Offers the server type in `location`, and in `sold_out`, where it cannot be had."""
    server_type: str
    location: str
    sold_out: str
    price_per_hour: Decimal
    """Of the server type in `location`."""
    currency: str
    pass_time: Callable[[float], None]
    """Lets so many seconds pass by the clock of provider and cloud."""


Check = Callable[[Stage], Awaitable[None]]


async def offerings_are_complete_priced_and_exact(stage: Stage) -> None:
    """Each location has an offering, also where nothing can be had, with an exact price and allocatable resources."""
    offerings = [one for one in stage.provider.offerings(stage.node_class) if one.server_type == stage.server_type]
    by_location = {one.location: one for one in offerings}
    assert len(offerings) == len(by_location), "one offering for each type and location"
    assert set(by_location) == {stage.location, stage.sold_out}
    offering = by_location[stage.location]
    assert (offering.price_per_hour, offering.currency) == (stage.price_per_hour, stage.currency)
    assert {"cpu", "memory", "pods"} <= set(offering.allocatable)
    assert all(isinstance(amount, int) for amount in offering.allocatable.values())
    assert {LABEL_ARCH, LABEL_INSTANCE_TYPE, LABEL_REGION} <= set(offering.labels)
    assert offering.available
    assert not by_location[stage.sold_out].available, "what cannot be had is told, not left out"


async def a_class_that_cannot_be_read_is_a_configuration_error(stage: Stage) -> None:
    """An offering of a broken class is none, and the field is named."""
    with _refused(InvalidConfiguration, "spec"):
        stage.provider.offerings({**stage.node_class, "spec": {}})


async def a_server_is_created_and_found_under_its_name(stage: Stage) -> None:
    """What was created is what is found."""
    created = await _create(stage)
    assert (created.name, created.server_type, created.location) == (NAME, stage.server_type, stage.location)
    assert created.state in {ServerState.CREATING, ServerState.RUNNING}
    assert created.provider_id
    assert LABELS.items() <= created.labels.items()
    assert await stage.provider.get(NAME) == created


async def the_name_is_the_key_of_a_repeated_call(stage: Stage) -> None:
    """A second call for the name makes nothing, and returns the server as it is."""
    created = await _create(stage)
    again = await _create(stage, labels={**LABELS, LABEL_REQUEST_UID: "another"})
    assert again.provider_id == created.provider_id
    assert again.labels[LABEL_REQUEST_UID] == "0f", "as it is, so that the caller sees whose it is"
    assert len(await stage.provider.list(CLUSTER)) == 1


async def a_server_runs_after_its_boot(stage: Stage) -> None:
    """It does so by itself, in minutes at most."""
    await _create(stage)
    stage.pass_time(_LONG_SECONDS)
    assert (await stage.provider.get(NAME)).state is ServerState.RUNNING


async def a_name_without_a_server_is_not_found(stage: Stage) -> None:
    """Certainty that there is none is an answer of its own."""
    with _refused(NotFound):
        await stage.provider.get(NAME)


async def servers_are_listed_by_cluster(stage: Stage) -> None:
    """Another cluster's servers may be in the same account, and are none of ours."""
    await _create(stage)
    await _create(stage, name="default-b2", labels={**LABELS, LABEL_CLUSTER: "two"})
    assert [server.name for server in await stage.provider.list(CLUSTER)] == [NAME]


async def deletion_is_idempotent_and_ends_in_not_found(stage: Stage) -> None:
    """Whoever deletes asks until the provider says that the server does not exist."""
    await _create_and_boot(stage)
    await stage.provider.delete(NAME)
    await stage.provider.delete(NAME)
    stage.pass_time(_LONG_SECONDS)
    with _refused(NotFound):
        await stage.provider.get(NAME)


async def what_never_was_is_deleted_without_error(stage: Stage) -> None:
    """Nothing is left to delete, and that is success."""
    await stage.provider.delete(NAME)


async def a_deleted_name_may_be_used_again(stage: Stage) -> None:
    """Nothing of the first server is on the second."""
    await _create_and_boot(stage)
    await stage.provider.delete(NAME)
    stage.pass_time(_LONG_SECONDS)
    again = await _create(stage, labels={**LABELS, LABEL_REQUEST_UID: "1f"})
    assert again.labels[LABEL_REQUEST_UID] == "1f"


async def labels_are_added(stage: Stage) -> None:
    """Those that are there stay."""
    await _create_and_boot(stage)
    await stage.provider.label(NAME, {LABEL_ABANDONED: "true"})
    labels = (await stage.provider.get(NAME)).labels
    assert {**LABELS, LABEL_ABANDONED: "true"}.items() <= labels.items()


async def labels_of_a_server_that_is_gone_are_not_found(stage: Stage) -> None:
    """There is nothing to label."""
    with _refused(NotFound):
        await stage.provider.label(NAME, {LABEL_ABANDONED: "true"})


async def a_type_that_is_not_offered_is_a_configuration_error_that_names_it(stage: Stage) -> None:
    """Nothing is created, and a person reads what was wrong."""
    with _refused(InvalidConfiguration, "huge"):
        await _create(stage, server_type="huge")
    assert await stage.provider.list(CLUSTER) == []


async def a_location_that_is_not_offered_is_a_configuration_error_that_names_it(stage: Stage) -> None:
    """Nothing is created, and a person reads what was wrong."""
    with _refused(InvalidConfiguration, "moon"):
        await _create(stage, location="moon")
    assert await stage.provider.list(CLUSTER) == []


async def tending_without_servers_does_nothing_and_says_when_to_come_again(stage: Stage) -> None:
    """A worker tends every provider, also one that nobody has bought from yet."""
    assert await stage.provider.tend() >= 0
    assert await stage.provider.list(CLUSTER) == []


async def tending_leaves_a_server_what_it_is(stage: Stage) -> None:
    """It may help a server on, and makes no other of it."""
    created = await _create(stage)
    stage.pass_time(_LONG_SECONDS)
    await stage.provider.tend()
    server = await stage.provider.get(NAME)
    assert (server.provider_id, server.state) == (created.provider_id, ServerState.RUNNING)
    assert LABELS.items() <= server.labels.items()


CHECKS: Final[tuple[Check, ...]] = (
    offerings_are_complete_priced_and_exact,
    a_class_that_cannot_be_read_is_a_configuration_error,
    a_server_is_created_and_found_under_its_name,
    the_name_is_the_key_of_a_repeated_call,
    a_server_runs_after_its_boot,
    a_name_without_a_server_is_not_found,
    servers_are_listed_by_cluster,
    deletion_is_idempotent_and_ends_in_not_found,
    what_never_was_is_deleted_without_error,
    a_deleted_name_may_be_used_again,
    labels_are_added,
    labels_of_a_server_that_is_gone_are_not_found,
    a_type_that_is_not_offered_is_a_configuration_error_that_names_it,
    a_location_that_is_not_offered_is_a_configuration_error_that_names_it,
    tending_without_servers_does_nothing_and_says_when_to_come_again,
    tending_leaves_a_server_what_it_is,
)
"""All of them; each needs a stage of its own."""


async def _create(
    stage: Stage,
    *,
    name: str = NAME,
    labels: dict[str, str] = LABELS,
    server_type: str = "",
    location: str = "",
) -> Server:
    order = replace(
        ORDER,
        name=name,
        labels=labels,
        server_type=server_type or stage.server_type,
        location=location or stage.location,
    )
    return await stage.provider.create(stage.node_class, order)


async def _create_and_boot(stage: Stage) -> None:
    await _create(stage)
    stage.pass_time(_SHORT_SECONDS)


@contextmanager
def _refused(kind: type[GrowthError], mentions: str = "") -> Iterator[None]:
    """Check that the body fails with this error, and that its message holds a word."""
    message = None
    try:
        yield
    except kind as error:
        message = str(error)
    assert message is not None, f"{kind.__name__} was to be raised"
    assert mentions in message
