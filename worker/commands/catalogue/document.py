"""What can be bought, as data: the stable JSON of `growth catalogue`.

    apiVersion              growth.dev/v1alpha1
    classes[]               kind, name, currency, readAt (when prices were read, or null), problem (why nothing of it is
                            bought, or null), pause (until, message, or null), refused[] (limit, until, message: what
                            stops a part of it), conditions[] (those that are not fine)
    classes[].ipv4Included  whether the prices are with that of a public IPv4 address
    classes[].elsewhere     locations of the project where the class does not buy
    classes[].offerings[]   serverType, location, architecture, cpu, memory, disk (quantities; disk may be null),
                            dedicated, pricePerHour, pricePerMonth (null: nobody tells), standing (Available, Doubtful,
                            SoldOut, Unmet, Withdrawn, NoPrice, NoImage), at (until when it is unmet, or when it is
                            withdrawn, or null), allocatable (what plans count on for pods, or null), learned (resources
                            that a Node of it has told), pools

Prices are decimal text, amounts are quantities, times in RFC 3339.
"""

from collections.abc import Iterable
from typing import Any

from activities.ports.catalogue import CatalogueRow
from api.keys import API_VERSION
from api.meta import format_timestamp
from api.quantity import format_amount, format_price
from worker.commands.catalogue.catalogue import Catalogue

Json = dict[str, Any]


def catalogue_document(catalogues: Iterable[Catalogue]) -> Json:
    """Return the catalogues as JSON types."""
    return {"apiVersion": API_VERSION, "classes": [_class(catalogue) for catalogue in catalogues]}


def _class(catalogue: Catalogue) -> Json:
    pause = catalogue.pause
    return {
        "kind": catalogue.ref.kind,
        "name": catalogue.ref.name,
        "currency": catalogue.currency,
        "ipv4Included": catalogue.has_ipv4,
        "readAt": None if catalogue.read_at is None else format_timestamp(catalogue.read_at),
        "problem": catalogue.problem or None,
        "pause": None if pause is None else {"until": format_timestamp(pause.until), "message": pause.message},
        "refused": [
            {"limit": part.limit, "until": format_timestamp(part.until), "message": part.message}
            for part in catalogue.parts
        ],
        "conditions": [condition.to_json() for condition in catalogue.conditions],
        "elsewhere": list(catalogue.elsewhere),
        "offerings": [_row(row) for row in catalogue.rows],
    }


def _row(row: CatalogueRow) -> Json:
    amounts = row.allocatable
    return {
        "serverType": row.server_type,
        "location": row.location,
        "architecture": row.architecture,
        "cpu": format_amount("cpu", row.millicores),
        "memory": format_amount("memory", row.memory_bytes),
        "disk": None if row.disk_bytes is None else format_amount("ephemeral-storage", row.disk_bytes),
        "dedicated": row.is_dedicated,
        "pricePerHour": None if row.price_per_hour is None else format_price(row.price_per_hour),
        "pricePerMonth": None if row.price_per_month is None else format_price(row.price_per_month),
        "standing": row.standing.value,
        "at": None if row.at is None else format_timestamp(row.at),
        "allocatable": None
        if amounts is None
        else {name: format_amount(name, n) for name, n in sorted(amounts.items())},
        "learned": list(row.learned),
        "pools": list(row.pools),
    }
