"""Time zones by their IANA names, from the pinned package tzdata alone: every host reads the same rules.

The zones of hosts differ, and `localtime` is one of them.
"""

from functools import lru_cache
from importlib.resources import files  # noqa: TID251 - constants of a pinned package, as its code is
from typing import Final
from zoneinfo import ZoneInfo  # noqa: TID251 - reads the stream that it is given

UTC_NAME: Final = "UTC"


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Return the names of all zones."""
    return frozenset(files("tzdata").joinpath("zones").read_text(encoding="ascii").split())


@lru_cache(maxsize=128)
def time_zone(name: str | None) -> ZoneInfo | None:
    """Return the zone of this name, UTC without a name, None if there is no such zone."""
    name = name or UTC_NAME
    # A name of the list is no path that leads elsewhere.
    if name not in zone_names():
        return None
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=name)
