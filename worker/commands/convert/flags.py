"""Command lines of containers in all forms that Go's flag packages take, as values by flag.

Source: spf13/pflag and Kubernetes' component-base, which reads `_` in a flag as `-`; Kubernetes, "Define a command and
arguments for a container", for `$(NAME)`.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from worker.commands.convert.fields import BadSetting, quoted, read_duration
from worker.commands.convert.inputs import PeerDocument
from worker.commands.convert.peer_setting import Remarks

_VARIABLE: Final = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "false", "FALSE", "False"})
"""Source: Go, strconv.ParseBool."""
_DIGITS: Final = 9
_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})


def containers(document: PeerDocument) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the containers of a workload or pod, each with its key.

    Raises:
        BadSetting: something in the way to them has another form.
    """
    path = ["spec"] if document.kind == "Pod" else ["spec", "template", "spec"]
    value: Any = document.value
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    listed = value.get("containers") if isinstance(value, Mapping) else None
    key = ".".join([*path, "containers"])
    if not isinstance(listed, list):
        raise BadSetting(key, "is missing" if listed is None else f"{quoted(listed)} must be a list")
    for index, container in enumerate(listed):
        if not isinstance(container, Mapping):
            raise BadSetting(f"{key}[{index}]", f"{quoted(container)} must be a mapping")
        yield f"{key}[{index}]", container


def environment(container: Mapping[str, Any], key: str) -> dict[str, Mapping[str, Any]]:
    """Return the environment of a container by name.

    Raises:
        BadSetting: it is no list of variables.
    """
    listed = container.get("env") or []
    if not isinstance(listed, list):
        raise BadSetting(f"{key}.env", f"{quoted(listed)} must be a list")
    variables: dict[str, Mapping[str, Any]] = {}
    for index, variable in enumerate(listed):
        if not isinstance(variable, Mapping) or not isinstance(variable.get("name"), str):
            raise BadSetting(f"{key}.env[{index}]", "must be a variable with a name")
        variables[variable["name"]] = variable
    return variables


def words(container: Mapping[str, Any], key: str) -> list[str]:
    """Return the words of a container's command and arguments, those of a shell's script among them.

    Raises:
        BadSetting: they are no lists of texts, or a script has a quote that does not end.
    """
    values = {
        name: variable["value"]
        for name, variable in environment(container, key).items()
        if isinstance(variable.get("value"), str)
    }
    read: list[str] = []
    for part in ("command", "args"):
        listed = container.get(part) or []
        if not isinstance(listed, list):
            raise BadSetting(f"{key}.{part}", f"{quoted(listed)} must be a list")
        for index, word in enumerate(listed):
            where = f"{key}.{part}[{index}]"
            if isinstance(word, Mapping | list):
                raise BadSetting(where, f"{quoted(word)} must be text")
            text = str(word).lower() if isinstance(word, bool) else str(word)
            text = _VARIABLE.sub(lambda match: values.get(match.group(1), match.group()), text)
            read += _split(text, where)
    return _without_shell(read)


def _without_shell(read: list[str]) -> list[str]:
    """Return the words without a shell that is told to run the others, and its own flags."""
    if not read or PurePosixPath(read[0]).name not in _SHELLS:
        return read
    own = next((index for index, word in enumerate(read[1:], start=1) if not word.startswith("-")), len(read))
    return read[own:]


def _split(text: str, where: str) -> list[str]:
    """Return the words of a text that holds several: a script of a shell, or a whole command line in one line."""
    stripped = text.strip()
    is_script = re.search(r"(^|\s)--?[A-Za-z]", stripped) and re.search(r"\s", stripped)
    if not is_script or (re.fullmatch(r"--?[\w-]+=.*\s.*", stripped) and not re.search(r"\s--?[A-Za-z]", stripped)):
        return [stripped]
    try:
        # A flag with a space before its value is two words; a script may go over lines.
        return shlex.split(stripped.replace("\\\n", " "), comments=True)
    except ValueError:
        raise BadSetting(where, "has a quote that does not end") from None


class Flags:
    """Flags with their values, each read at most once."""

    def __init__(self, given: list[str], booleans: frozenset[str], remarks: Remarks) -> None:
        """Read a command line.

        Args:
            given: its words.
            booleans: flags that take a value only after `=`, with their dashes.
            remarks: where what is left over is told.
        """
        self.remarks: Final = remarks
        self._values: Final[dict[str, list[str]]] = {}
        self._read: Final[set[str]] = set()
        left = list(given)
        while left:
            word = left.pop(0)
            if word == "--":
                break
            # A number below zero is a value.
            if not re.match("--?[A-Za-z]", word):
                continue
            name, is_given, value = word.partition("=")
            name = self._known_name(name)
            if not is_given:
                takes_next = name not in booleans and left and not re.match("--?[A-Za-z]", left[0])
                value = left.pop(0) if takes_next else "true"
            self._values.setdefault(name, []).append(value.strip().strip("\"'"))

    def _known_name(self, name: str) -> str:
        dashed = f"--{name.lstrip('-').replace('_', '-')}"
        return name if name in self.remarks.table else dashed

    def all(self, name: str) -> list[str]:
        """Return the values of a flag that may stand several times."""
        self._read.add(name)
        return self._values.get(name, [])

    def text(self, name: str) -> str | None:
        """Return the value of a flag, the last one if it stands several times; an empty one counts as none."""
        values = self.all(name)
        return (values[-1] or None) if values else None

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """Return true or false.

        Raises:
            BadSetting: it is neither.
        """
        text = self.text(name)
        if text is None:
            return otherwise
        if text not in _TRUE | _FALSE:
            raise BadSetting(name, f"{quoted(text)} must be true or false")
        return text in _TRUE

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number within bounds.

        Raises:
            BadSetting: it is none.
        """
        text = self.text(name)
        return None if text is None else whole_number(name, text, least, most)

    def duration(self, name: str) -> str | None:
        """Return a duration.

        Raises:
            BadSetting: it is none.
        """
        text = self.text(name)
        return None if text is None else read_duration(name, text)

    def finish(self) -> None:
        """Remark what nobody has read."""
        for name in self._values:
            if name not in self._read:
                self.remarks.left_over(name, name)


def whole_number(key: str, text: str, least: int, most: int) -> int:
    """Return the number that a text is.

    Raises:
        BadSetting: it is none, or out of bounds.
    """
    digits = text.strip().removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS + 1
    if not is_number or not least <= int(text) <= most:
        raise BadSetting(key, f"{quoted(text)} must be a whole number from {least} to {most}")
    return int(text)
