"""A setting of a peer and what becomes of it: a field of ours, or the reason why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class PeerSetting:
    """A row of a peer's table."""

    becomes: str
    """Our field, or what does the same here; empty if there is no equal."""
    why: str
    """How it is converted, or why there is no equal; a sentence without its full stop."""


PeerTable = Mapping[str, PeerSetting]
"""Settings by name: the path in the peer's file with dots and without indices, or a flag with its dashes."""


def equal(becomes: str, how: str = "") -> PeerSetting:
    """Return the row of a setting that we have."""
    return PeerSetting(becomes, how)


def none(why: str) -> PeerSetting:
    """Return the row of a setting that has no equal here."""
    return PeerSetting("", why)


RemarkKind = Literal["no equal", "not known", "differs"]
REMARK_KINDS: Final[tuple[RemarkKind, ...]] = ("no equal", "not known", "differs")
"""In the order in which they are told."""
_NOT_KNOWN: Final = "no setting of this name is known: see whether it is spelled right, or new"


@dataclass(frozen=True, slots=True)
class Remark:
    """What a person should know of one setting. Never its value: a secret may stand there."""

    kind: RemarkKind
    setting: str
    """As it stands in the peer's file, with indices."""
    reason: str


@dataclass(slots=True)
class Remarks:
    """The remarks on one object, each once."""

    table: PeerTable
    entries: list[Remark] = field(default_factory=list)

    def no_equal(self, setting: str, reason: str) -> None:
        """Tell of a setting that nothing here does."""
        self._tell(Remark("no equal", setting, reason))

    def differs(self, setting: str, reason: str) -> None:
        """Tell of a setting that was converted and is not quite the same here."""
        self._tell(Remark("differs", setting, reason))

    def left_over(self, setting: str, name: str) -> None:
        """Tell of a setting that nothing has read, by the reason of its row."""
        row = self.table.get(name)
        if row is None:
            self._tell(Remark("not known", setting, _NOT_KNOWN))
        else:
            self.no_equal(setting, row.why or f"it says nothing beside {row.becomes}")

    def _tell(self, remark: Remark) -> None:
        if remark not in self.entries:
            self.entries.append(remark)
