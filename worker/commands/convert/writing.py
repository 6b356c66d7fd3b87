"""Writes converted objects as YAML, each below the remarks on it, and lists the settings without an equal."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from worker.commands.convert.peer_setting import REMARK_KINDS, Remark

Json = dict[str, Any]
_WIDTH: Final = 110
_CLOCK: Final = re.compile("[0-9]+:[0-9]+")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_HEADINGS: Final = {
    "no equal": "No equal here:",
    "not known": "Not known, and not converted:",
    "differs": "Not quite the same here:",
}


@dataclass(frozen=True, slots=True)
class ConvertedObject:
    """An object of ours, and what a person should know of it."""

    item: Json
    source: str
    """What it was made of: an object or a key of the file."""
    file: str = ""
    """Empty if it was made of none."""
    remarks: Sequence[Remark] = ()

    @property
    def shown(self) -> str:
        """Kind and name."""
        return f"{self.item['kind']} {self.item['metadata']['name']}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What the files of a peer become."""

    objects: Sequence[ConvertedObject]
    remarks: Sequence[Remark] = ()
    """On what belongs to no single object, such as flags of the process."""
    passed_over: Sequence[str] = ()
    """Objects of the files that are none of the peer's."""


def text_of(conversion: Conversion) -> str:
    """Return the objects as documents in YAML, with comments; the same for the same files."""
    return "---\n".join(_document(conversion, number) for number in range(len(conversion.objects)))


def listing(conversion: Conversion) -> Iterator[str]:
    """Yield a line for each setting that has no equal or is not known: of the process first, then by object."""
    for shown, remarks in _all(conversion):
        for remark in remarks:
            if remark.kind != "differs":
                prefix = "not known: " if remark.kind == "not known" else ""
                yield printable(f"{shown}: {remark.setting}: {prefix}{remark.reason}")


def has_unknown(conversion: Conversion) -> bool:
    """Return whether a setting is of no name that is known."""
    return any(remark.kind == "not known" for _, remarks in _all(conversion) for remark in remarks)


def printable(text: str) -> str:
    """Return the text as one line whose characters can all be seen: a comment must neither end nor break its YAML."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _all(conversion: Conversion) -> Iterator[tuple[str, Sequence[Remark]]]:
    yield "the process", conversion.remarks
    for each in conversion.objects:
        yield each.shown, each.remarks


def _document(conversion: Conversion, number: int) -> str:
    converted = conversion.objects[number]
    lines: list[str] = []
    if not number and conversion.remarks:
        lines += ["Of the process, for all objects:", *_comments(conversion.remarks), ""]
    of_file = f" of {converted.file}" if converted.file else ""
    lines += [f"From {converted.source}{of_file}.", *_comments(converted.remarks)]
    head = "".join(f"# {printable(line)}".rstrip() + "\n" for line in lines)
    return head + yaml.dump(converted.item, Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True)


def _comments(remarks: Sequence[Remark]) -> Iterator[str]:
    for kind in REMARK_KINDS:
        of_kind = [remark for remark in remarks if remark.kind == kind]
        if of_kind:
            yield _HEADINGS[kind]
            yield from (f"  {remark.setting}: {remark.reason}" for remark in of_kind)


class _Dumper(yaml.SafeDumper):
    """Writes each value where it stands: an anchor would be a riddle in a file that people go on with."""

    def represent_text(self, text: str) -> yaml.Node:
        """Return the text, in quotes if it is a time of day, which some readers take for a number of base 60."""
        return self.represent_scalar(_TEXT_TAG, text, style="'" if _CLOCK.fullmatch(text) else None)

    def ignore_aliases(self, data: Any) -> bool:
        """Return true: no value is an alias of another one."""
        del data
        return True


_Dumper.add_representer(str, _Dumper.represent_text)
