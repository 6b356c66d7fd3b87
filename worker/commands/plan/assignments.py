"""Changes of objects by hand before they are planned: `--set pool/default.limits.max=9`.

A setting names an object, a field below its spec, and a value. Dots separate fields; an entry of a list goes by its
name, its key (taints) or its number, and `*` is all of them. What holds a dot stands in brackets:
`template.labels[example.com/team]`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from activities.providers.kinds import node_classes
from api.model import Model, UnreadableError, read
from worker.commands.plan.assignment_path import ABSENT, NowhereError, changed_at, shared_names
from worker.commands.plan.objects import Json, Objects
from worker.commands.plan.syntax import BadDocument, documents
from worker.errors import USAGE_ERROR, CommandError

T = TypeVar("T", bound=Model)

_FORM: Final = "must be KIND/NAME.FIELD=VALUE, such as pool/default.limits.max=9"
# No field of any kind lies twenty steps deep, and what is deeper is no slip of a pen.
_SETTING: Final = re.compile(
    r"(?P<path>(?P<object>(?P<kind>\w+)/(?P<name>[^\s.=+\[\]]+))(?P<field>(?:\.[^\s.=+\[\]]+|\[[^\s\[\]]+\]){1,20}))"
    r"(?P<sign>\+?=)(?P<value>.*)",
    re.DOTALL,
)
_STEP: Final = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
_LONGEST: Final = 60
"""What cannot be read as a setting is cut here, so that the line stays one line."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A change of one field."""

    path: str
    """As it was written, up to the equals sign."""
    object: str
    """Its first part: kind and name."""
    kinds: tuple[str, ...]
    """The kind; with `class`, each kind of node class."""
    name: str
    steps: tuple[str, ...]
    """Fields, and names or numbers of entries, from the spec on."""
    value: Any
    """As of JSON; None removes what is there."""
    adds: bool
    """Whether the value, or each entry of it if it is a list, is added to a list."""

    def is_of(self, kind: str, item: Json) -> bool:
        """Whether this object is the one to change."""
        metadata = item.get("metadata")
        return kind in self.kinds and isinstance(metadata, dict) and metadata.get("name") == self.name


def setting(text: str) -> Setting:
    """Return the setting that PATH=VALUE or PATH+=VALUE stands for.

    The value is YAML. A number with a decimal point stays text as it is written, as prices are.

    Raises:
        CommandError: it is no setting.
    """
    match = _SETTING.fullmatch(text)
    if match is None:
        shown = " ".join(text.split())
        raise _bad(shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}...", _FORM)
    path, kind = match["path"], match["kind"]
    kinds = _kinds()
    if kind.lower() not in kinds:
        raise _bad(path, f"the kind must be one of {', '.join(kinds)}, not {kind}")
    return Setting(
        path=path,
        object=match["object"],
        kinds=kinds[kind.lower()],
        name=match["name"],
        steps=tuple(dotted or bracketed for dotted, bracketed in _STEP.findall(match["field"])),
        value=_value(path, match["value"]),
        adds=match["sign"] == "+=",
    )


def _kinds() -> dict[str, tuple[str, ...]]:
    """Return the kinds that each first word of a setting stands for."""
    classes = tuple(each.kind for each in node_classes())
    return {
        "pool": ("NodePool",),
        "nodepool": ("NodePool",),
        "class": classes,
        **{kind.lower(): (kind,) for kind in classes},
    }


def check_objects(settings: Sequence[Setting], objects: Objects) -> None:
    """Check that each setting has its object.

    Raises:
        CommandError: there is none of its name, and tells which there are; or there are two.
    """
    for wanted in settings:
        items = [(kind, item) for kind in wanted.kinds for item in objects.of(kind)]
        kinds = [kind for kind, item in items if wanted.is_of(kind, item)]
        if not kinds:
            known = [str(item["metadata"].get("name")) for _, item in items if isinstance(item.get("metadata"), dict)]
            choices = f"there are {', '.join(known)}" if known else "no file holds any"
            raise _bad(wanted.path, f"there is no {' or '.join(wanted.kinds)} {wanted.name}: {choices}")
        if len(kinds) > 1:
            choice = " or ".join(f"{kind.lower()}/{wanted.name}" for kind in kinds)
            raise _bad(wanted.path, f"more than one kind of class has this name: write {choice}")


def changed(item: Json, settings: Sequence[Setting]) -> Json:
    """Return the object after these settings of it, one after the other; what is given stays as it is.

    Raises:
        CommandError: a path leads nowhere; tells what is there.
    """
    for each in settings:
        try:
            item = {**item, "spec": changed_at(item.get("spec"), each.steps, _put(each), each.object)}
        except NowhereError as error:
            raise _bad(each.path, str(error)) from None
    return item


def notes(item: Json, settings: Sequence[Setting]) -> list[str]:
    """Return a line for each name in these settings of an object that stands for several entries of a list."""
    lines: list[str] = []
    for each in settings:
        for name, number in shared_names(item.get("spec"), each.steps):
            lines.append(f"--set {each.path}: {number} entries go by the name {name}, and all of them are set")
        item = changed(item, (each,))
    return lines


def read_changed(model: type[T], item: Json, settings: Sequence[Setting]) -> T:
    """Return the object after these settings of it as its kind.

    Raises:
        CommandError: it breaks the rules of its kind since one of the settings, or a path leads nowhere.
        UnreadableError: it breaks them as it is given.
    """
    try:
        return read(model, changed(item, settings))
    except UnreadableError as error:
        # Settings may be right only together, so one is to blame only for what is wrong at the end.
        for number, last in enumerate(settings, start=1):
            if _fault(model, changed(item, settings[:number])) == str(error):
                raise _bad(last.path, str(error)) from None
        raise


def _fault(model: type[Model], item: Json) -> str:
    try:
        read(model, item)
    except UnreadableError as error:
        return str(error)
    return ""


def _value(path: str, text: str) -> Any:
    try:
        values = list(documents(text.encode(errors="surrogateescape")))
    except BadDocument as error:
        raise _bad(path, str(error)) from None
    except UnicodeDecodeError:
        raise _bad(path, "the value is not a text in UTF-8") from None
    if not text.strip() or len(values) != 1:
        raise _bad(path, "one value is needed; null removes what is there")
    return text.strip() if isinstance(values[0], float) else values[0]


def _put(by: Setting) -> Any:
    """Return the function that changes the value at the end of a setting's path."""

    def put(current: Any, place: str) -> Any:
        if by.adds:
            before = [] if current is None or current is ABSENT else current
            if not isinstance(before, list):
                raise NowhereError(f"{place} is no list, and += adds to lists")
            return [*before, *(by.value if isinstance(by.value, list) else [by.value])]
        if by.value is None and current is ABSENT:
            raise NowhereError(f"{place} is not there, and null removes what is there")
        return ABSENT if by.value is None else by.value

    return put


def _bad(path: str, message: str) -> CommandError:
    return CommandError(f"--set {path}: {message}", USAGE_ERROR)
