"""The machines of the benchmark: frozen test data with real sizes, never live prices."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import floor
from typing import Final

HOURS: Final = 1000
"""Hours of a month here, so that a price per month is an exact decimal per hour, too. Only ratios of prices matter."""
ZONES: Final = ("fsn1", "nbg1", "hel1")
_PODS: Final = 110
_IPV4: Final = Decimal("0.50")
"""Per month, on top of each machine."""

_TYPES: Final = (
    ("cx22", 2, 4, 40, "3.79"),
    ("cx32", 4, 8, 80, "6.80"),
    ("cx42", 8, 16, 160, "16.40"),
    ("cx52", 16, 32, 320, "32.40"),
    ("cpx11", 2, 2, 40, "4.35"),
    ("cpx21", 3, 4, 80, "7.55"),
    ("cpx31", 4, 8, 160, "13.60"),
    ("cpx41", 8, 16, 240, "25.20"),
    ("cpx51", 16, 32, 360, "54.90"),
    ("cax11", 2, 4, 40, "3.79"),
    ("cax21", 4, 8, 80, "6.49"),
    ("cax31", 8, 16, 160, "12.49"),
    ("cax41", 16, 32, 320, "24.49"),
    ("ccx13", 2, 8, 80, "12.49"),
    ("ccx23", 4, 16, 160, "24.49"),
    ("ccx33", 8, 32, 240, "48.49"),
    ("ccx43", 16, 64, 360, "96.49"),
    ("ccx53", 32, 128, 600, "192.49"),
    ("ccx63", 48, 192, 960, "288.49"),
)
"""Name, cores, GB of memory, GB of disk, EUR net per month. Source: Hetzner's list prices for the EU, 2025."""


@dataclass(frozen=True, slots=True)
class CatalogueMachine:
    """A server type, in a zone if there are zones."""

    name: str
    zone: str
    price_per_hour: Decimal
    """EUR, in months of `HOURS`."""
    cpu: int
    """Millicores that are left for pods after the reserves of kubelet and system, and DaemonSets."""
    memory: int
    """MiB, as cpu."""
    disk: int
    """MiB of ephemeral storage, as cpu."""
    pods: int

    @property
    def family(self) -> str:
        """The letters of its name: cx, cpx, cax or ccx."""
        return self.name.rstrip("0123456789")

    @property
    def architecture(self) -> str:
        """As kubernetes.io/arch has it."""
        return "arm64" if self.family == "cax" else "amd64"


def machines(*, zonal: bool = False) -> tuple[CatalogueMachine, ...]:
    """Return all machines in the order that ties between them are decided by; zonal ones once per zone."""
    return tuple(_machines(ZONES if zonal else ("",)))


def _machines(zones: tuple[str, ...]) -> Iterator[CatalogueMachine]:
    for name, cores, gigabytes, disk, price in _TYPES:
        # What a machine reports is a little less than what is sold.
        memory = floor(1024 * gigabytes * 0.965)
        reserved = floor(0.10 * min(memory, 8192) + 0.04 * max(memory - 8192, 0)) + 100
        for zone in zones:
            yield CatalogueMachine(
                name=name,
                zone=zone,
                price_per_hour=(Decimal(price) + _IPV4) / HOURS,
                cpu=1000 * cores - 70 - 5 * min(cores - 2, 2) - floor(2.5 * max(cores - 4, 0)) - 150,
                memory=memory - reserved - 250,
                disk=floor(953.67 * disk * 0.85) - 5120,
                pods=_PODS - 5,
            )
