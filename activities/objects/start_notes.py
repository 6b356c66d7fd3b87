"""Start notes, which tell people of a lifecycle from its start: its machine, for which pods, and at what price.

One place for all who start workflows, so that a machine reads the same whoever found it without one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from activities.ports.cluster import Object
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from api.model import UnreadableError, read
from api.quantity import format_price
from api.v1alpha1.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec
from api.v1alpha1.node_request import NodeRequest, NodeRequestSpec, Seat
from planner.model.round import StartNote
from planner.objects.offering import Offering

Prices = Mapping[tuple[str, str, str, str], str]
"""Price of a machine, such as "0.0136 EUR/h", by kind and name of its class, server type and location."""

_SUMMARY_CHARACTERS: Final = 200
"""Temporal takes 400 bytes; names are ASCII."""
_PODS_NAMED: Final = 8
_PODS_CHARACTERS: Final = 400
"""Names of pods and namespaces together may have 300 characters each."""


def note_on_request(request: Object, known: Prices) -> StartNote:
    """Return the start note of a NodeRequest, whoever made it."""
    name = request["metadata"]["name"]
    try:
        model = read(NodeRequest, request)
    except UnreadableError as error:
        return _unreadable(name, error)
    spec, price = model.spec, _price(model.spec, known)
    pods = f" for {_count(spec.reserved_for)}" if spec.reserved_for else ""
    return StartNote(
        summary=_summary(f"{name}: {spec.server_type} in {spec.location} shall come{pods}", price),
        details="\n".join(
            (
                *_machine(spec, price),
                f"- **For:** {_names(spec.reserved_for) or 'no pod in particular'}",
                f"- **Object:** `kubectl get noderequests.growth.dev {name} -o yaml`",
                f"- **Why:** `growth why request {name}`",
            )
        ),
        pool=spec.pool,
        offering=f"{spec.server_type} {spec.location}",
        phase=model.status.phase,
    )


def note_on_removal(removal: Object, known: Prices) -> StartNote:
    """Return the start note of a NodeRemovalRequest, whoever made it."""
    name = removal["metadata"]["name"]
    try:
        model = read(NodeRemovalRequest, removal)
    except UnreadableError as error:
        return _unreadable(name, error)
    spec, price = model.spec, _price(model.spec, known)
    return StartNote(
        summary=_summary(f"{name}: {spec.server_type} in {spec.location} shall go ({spec.reason})", price),
        details="\n".join(
            (
                *_machine(spec, price),
                f"- **Node:** {spec.node_name or 'none has joined'}",
                f"- **Reason:** {spec.reason}" + (", without a cool-off" if spec.immediate else ""),
                f"- **Object:** `kubectl get noderemovalrequests.growth.dev {name} -o yaml`",
                f"- **Why:** `growth why removal {name}`",
            )
        ),
        pool=spec.pool,
        offering=f"{spec.server_type} {spec.location}",
        phase=model.status.phase,
    )


def _unreadable(name: str, error: UnreadableError) -> StartNote:
    return StartNote(summary=f"{name}: cannot be read", details=_cut(str(error), _PODS_CHARACTERS))


def _summary(headline: str, price: str) -> str:
    return _cut(f"{headline}, {price}" if price else headline, _SUMMARY_CHARACTERS)


def _machine(spec: NodeRequestSpec | NodeRemovalRequestSpec, price: str) -> Iterator[str]:
    yield f"- **Machine:** {spec.server_type} in {spec.location}, {price or 'price not known'}"
    yield f"- **Pool:** {spec.pool}, of {spec.class_ref.kind} {spec.class_ref.name}"


def _price(spec: NodeRequestSpec | NodeRemovalRequestSpec, known: Prices) -> str:
    return known.get((spec.class_ref.kind, spec.class_ref.name, spec.server_type, spec.location), "")


def _names(seats: Sequence[Seat]) -> str:
    rest = len(seats) - _PODS_NAMED
    shown = _cut(", ".join(f"{seat.namespace}/{seat.name}" for seat in seats[:_PODS_NAMED]), _PODS_CHARACTERS)
    return f"{shown} and {rest} more" if rest > 0 else shown


def _count(seats: Sequence[Seat]) -> str:
    return "1 pod" if len(seats) == 1 else f"{len(seats)} pods"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def prices(classes: Iterable[tuple[str, str, Sequence[Offering]]]) -> dict[tuple[str, str, str, str], str]:
    """Return the prices of the offerings of classes, each given as kind, name and offerings."""
    return {
        (kind, name, one.server_type, one.location): f"{format_price(one.price_per_hour)} {one.currency}/h"
        for kind, name, offerings in classes
        for one in offerings
    }


async def listed_prices(ports: Ports) -> Prices:
    """Return the prices of the offerings of all classes that can be read."""
    known: dict[tuple[str, str, str, str], str] = {}
    for kind, provider in ports.providers.items():
        # Rounds tell of what cannot be read; a workflow is started all the same.
        with suppress(GrowthError):
            for item in (await ports.reader.list(provider.node_classes)).items:
                with suppress(GrowthError):
                    known |= prices([(kind, item["metadata"]["name"], provider.offerings(item))])
    return known
