"""Attach limits that a node class declares: how many volumes of each CSI driver one of its machines can attach.

Source: CSI specification, "GetPluginInfo" (form of a driver's name); CSINode, `allocatable.count`.
"""

from typing import Annotated, Final

from pydantic import Field

from api.rules import Check, Text

_MOST_DRIVERS: Final = 32
_MOST_VOLUMES: Final = 10_000
_DRIVER: Final = Text(
    pattern="^[A-Za-z0-9]([-A-Za-z0-9.]{0,61}[A-Za-z0-9])?$",
    longest=63,
    form='the name of a CSI driver, such as "csi.hetzner.cloud"',
)


def _is_driver(name: str) -> bool:
    try:
        _DRIVER.check(name)
    except ValueError:
        return False
    return True


AttachLimits = Annotated[
    dict[str, Annotated[int, Field(strict=True, ge=0, le=_MOST_VOLUMES)]],
    Field(max_length=_MOST_DRIVERS),
    Check(
        lambda limits: all(_is_driver(name) for name in limits),
        f"self.all(name, name.matches('{_DRIVER.pattern}'))",
        f"each key must be {_DRIVER.form}",
    ),
]
"""Most volumes of a machine, by CSI driver."""
