"""Headroom of a pool: room that is kept free, so that pods which come need not wait for machines."""

from typing import Annotated, Final

from pydantic import Field

from api.model import Model
from api.quantity import Quantity, parse_quantity
from api.rules import Check

MOST_ENTRIES: Final = 16
_ASKS_FOR_SOMETHING: Final = Check(
    # What is no quantity, or a negative one, is told of by the rule of quantities.
    lambda requests: any(parse_quantity(text) != 0 for text in requests.values()),
    "self.exists(r, !isQuantity(string(self[r])) || quantity(string(self[r])).isGreaterThan(quantity('0'))"
    " || quantity(string(self[r])).isLessThan(quantity('0')))",
    "at least one resource must be above 0",
)


class Headroom(Model):
    """Room for so many more pods of a size."""

    requests: Annotated[dict[str, Quantity], Field(max_length=16), _ASKS_FOR_SOMETHING]
    """What one of the pods would request, as quantities, such as cpu 500m and memory 1Gi."""
    count: Annotated[int, Field(strict=True, ge=1, le=1000)]
    """How many such pods always fit, beside the pods that are there."""
