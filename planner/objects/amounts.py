"""Amounts of resources as people write them."""

from typing import Final

_BYTES: Final = ("memory", "ephemeral-storage")
_SUFFIXES: Final = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def shown(resource: str, amount: int) -> str:
    """Return an amount (millicores, or whole units) as text, bytes rounded to one decimal: "1.5", "250m", "3.2Gi"."""
    if resource == "cpu":
        return f"{amount}m" if amount % 100 else f"{amount / 1000:g}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        for suffix, size in _SUFFIXES:
            if amount >= size:
                return f"{amount / size:.1f}".removesuffix(".0") + suffix
    return str(amount)
