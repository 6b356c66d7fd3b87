"""What offerings cost, as start notes tell it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from activities.objects.start_notes import Prices
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from api.money import format_price
from planner.objects.offering import Offering


def prices(classes: Iterable[tuple[str, str, Sequence[Offering]]]) -> dict[tuple[str, str, str, str], str]:
    """Return what is asked for the offerings of classes, each given as kind, name and offerings."""
    return {
        (kind, name, one.server_type, one.location): f"{format_price(one.price_per_hour)} {one.currency}/h"
        for kind, name, offerings in classes
        for one in offerings
    }


async def listed_prices(ports: Ports) -> Prices:
    """Return what is asked for the offerings of all classes that can be read."""
    known: dict[tuple[str, str, str, str], str] = {}
    for kind, provider in ports.providers.items():
        # Rounds tell of what cannot be read; a workflow is started all the same.
        with suppress(GrowthError):
            for item in (await ports.reader.list(provider.node_classes)).items:
                with suppress(GrowthError):
                    known |= prices([(kind, item["metadata"]["name"], provider.offerings(item))])
    return known
