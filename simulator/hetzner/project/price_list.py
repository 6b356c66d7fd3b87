"""Server types, prices and locations as they were in the summer of 2026: test data.

Source: Hetzner's public price lists of 2026-08 and 2026-09, net prices after 2026-06-15. The prices of ccx in the
USA and of most types in Singapore are made up: there, 1.36 times the European ones, as of the types that are known.
"""

from decimal import Decimal
from typing import Final, NamedTuple


class ListedLocation(NamedTuple):
    """A location."""

    name: str
    zone: str
    country: str
    city: str
    node_zone: str
    """Value of topology.kubernetes.io/zone by Hetzner's cloud-controller-manager."""


PLACES: Final = (
    ListedLocation("fsn1", "eu-central", "DE", "Falkenstein", "fsn1-dc14"),
    ListedLocation("nbg1", "eu-central", "DE", "Nuremberg", "nbg1-dc3"),
    ListedLocation("hel1", "eu-central", "FI", "Helsinki", "hel1-dc2"),
    ListedLocation("ash", "us-east", "US", "Ashburn, VA", "ash-dc1"),
    ListedLocation("hil", "us-west", "US", "Hillsboro, OR", "hil-dc1"),
    ListedLocation("sin", "ap-southeast", "SG", "Singapore", "sin-dc1"),
)
EUROPE: Final = ("fsn1", "nbg1", "hel1")
USA: Final = ("ash", "hil")
SINGAPORE: Final = ("sin",)


class ListedServerType(NamedTuple):
    """What a server type is."""

    name: str
    cores: int
    memory_gib: int
    disk_gb: int
    architecture: str
    """As the API says it: x86 or arm."""
    month: str
    """Net price of a month, in euros."""
    hour: str
    places: tuple[str, ...]

    @property
    def is_dedicated(self) -> bool:
        """Whether its cores are not shared."""
        return self.name.startswith("ccx")


_CPX: Final = (*EUROPE, *SINGAPORE)
_CCX: Final = (*EUROPE, *USA, *SINGAPORE)

MACHINES: Final = (
    # The cheap ones stand last: who takes the first type that fits pays too much.
    ListedServerType("cpx12", 1, 2, 40, "x86", "11.49", "0.0184", _CPX),
    ListedServerType("cpx22", 2, 4, 80, "x86", "19.49", "0.0312", _CPX),
    ListedServerType("cpx32", 4, 8, 160, "x86", "35.49", "0.0569", _CPX),
    ListedServerType("cpx42", 8, 16, 320, "x86", "69.49", "0.1114", _CPX),
    ListedServerType("cpx52", 12, 24, 480, "x86", "100.49", "0.1610", _CPX),
    ListedServerType("cpx62", 16, 32, 640, "x86", "129.99", "0.2083", _CPX),
    ListedServerType("cpx11", 2, 2, 40, "x86", "17.49", "0.0280", USA),
    ListedServerType("cpx21", 3, 4, 80, "x86", "31.99", "0.0513", USA),
    ListedServerType("cpx31", 4, 8, 160, "x86", "62.49", "0.1001", USA),
    ListedServerType("cpx41", 8, 16, 240, "x86", "120.49", "0.1931", USA),
    ListedServerType("cpx51", 16, 32, 360, "x86", "237.99", "0.3814", USA),
    ListedServerType("ccx13", 2, 8, 80, "x86", "42.99", "0.0689", _CCX),
    ListedServerType("ccx23", 4, 16, 160, "x86", "85.99", "0.1378", _CCX),
    ListedServerType("ccx33", 8, 32, 240, "x86", "138.49", "0.2219", _CCX),
    ListedServerType("ccx43", 16, 64, 360, "x86", "275.99", "0.4423", _CCX),
    ListedServerType("ccx53", 32, 128, 600, "x86", "533.49", "0.8550", _CCX),
    ListedServerType("ccx63", 48, 192, 960, "x86", "853.49", "1.3678", _CCX),
    ListedServerType("cax11", 2, 4, 40, "arm", "5.99", "0.0096", EUROPE),
    ListedServerType("cax21", 4, 8, 80, "arm", "10.49", "0.0168", EUROPE),
    ListedServerType("cax31", 8, 16, 160, "arm", "20.99", "0.0336", EUROPE),
    ListedServerType("cax41", 16, 32, 320, "arm", "40.99", "0.0657", EUROPE),
    ListedServerType("cx23", 2, 4, 40, "x86", "5.49", "0.0088", EUROPE),
    ListedServerType("cx33", 4, 8, 80, "x86", "8.49", "0.0136", EUROPE),
    ListedServerType("cx43", 8, 16, 160, "x86", "15.99", "0.0256", EUROPE),
    ListedServerType("cx53", 16, 32, 320, "x86", "29.49", "0.0473", EUROPE),
)

_SINGAPORE_FACTOR: Final = Decimal("1.36")
_SINGAPORE_MONTHS: Final = {"cpx12": Decimal("15.49"), "cpx22": Decimal("26.49")}
"""Told with a public IPv4 address, whose 0.50 is taken off here."""
_HOURS_OF_CAP: Final = 624
"""After so many hours a server has cost its month's price."""

IPV4_HOUR: Final = Decimal("0.0008")
IPV4_MONTH: Final = Decimal("0.50")


def price(machine: ListedServerType, location: str) -> tuple[Decimal, Decimal]:
    """Return the net price of the type in the location, per hour and per month."""
    month = Decimal(machine.month)
    if location not in SINGAPORE:
        return Decimal(machine.hour), month
    month = _SINGAPORE_MONTHS.get(machine.name, (month * _SINGAPORE_FACTOR).quantize(Decimal("0.01")))
    return (month / _HOURS_OF_CAP).quantize(Decimal("0.0001")), month
