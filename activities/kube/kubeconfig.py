"""The cluster that a kubeconfig leads to, or the fault of the file, in words.

The Kubernetes client reads the file itself, but says little of what is wrong in it, and goes on without
credentials where a program that should give them fails.
"""

import difflib
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from activities.ports.errors import Rejected

DEFAULT_PATH: Final = "~/.kube/config"
DEFAULT_NAMESPACE: Final = "default"
_FILES_OF_CLUSTER: Final = {"certificate-authority": "certificate-authority-data"}
_FILES_OF_USER: Final = {
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
    "tokenFile": "token",
}
"""Fields that name a file, and the fields that make them unused."""
_NAMES_TOLD: Final = 10


@dataclass(frozen=True, slots=True)
class Access:
    """Where a connection goes."""

    where: str
    """In words."""
    context: str | None = None
    """Context of the kubeconfig, None in a pod."""
    namespace: str = DEFAULT_NAMESPACE
    """Of objects that are named without one."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A context, cluster or user, and the file that it stands in."""

    name: str
    body: Mapping[str, Any]
    file: Path


def read_kubeconfig(path: str, context: str | None) -> Access:
    """Return cluster, context and namespace of a kubeconfig's context: the current one if no name is given.

    Args:
        path: a file, or more of them with the system's separator between, as in KUBECONFIG: whichever names a
            thing first holds, as for kubectl.
        context: name of the context.

    Raises:
        Rejected: a file, the context, or what it needs is missing or of another shape.
    """
    documents = _documents(path)
    subject = f"kubeconfig {path}"
    contexts = _entries(documents, "contexts")
    current = next((str(d["current-context"]) for _, d in documents if d.get("current-context")), None)
    chosen = context or current
    if chosen is None:
        raise Rejected(f"{subject} has no current context: choose one with --context; {_context_names(contexts, '')}")
    if chosen not in contexts:
        problem = f"has no context {chosen}" if context else f"has no context {chosen}, which is its current one"
        raise Rejected(f"{subject} {problem}: choose one with --context; {_context_names(contexts, chosen)}")
    about = f"{subject}, context {chosen}"
    body = contexts[chosen].body
    cluster = _named(documents, body, "cluster", about)
    user = _named(documents, body, "user", about)
    server = cluster.body.get("server")
    if not isinstance(server, str) or not server.startswith(("http://", "https://")):
        raise Rejected(f"{about}: cluster {cluster.name} has no server: write its address, https://host:port")
    _check_files(cluster, _FILES_OF_CLUSTER, f"{about}: cluster {cluster.name}")
    _check_files(user, _FILES_OF_USER, f"{about}: user {user.name}")
    _check_program(user, f"{about}: user {user.name}")
    return Access(f"context {chosen} of {path}", chosen, str(body.get("namespace") or DEFAULT_NAMESPACE))


def any_exists(path: str) -> bool:
    """Return whether one of the files of a KUBECONFIG is there."""
    return any(map(_exists, _files(path)))


@contextmanager
def client_complaints() -> Iterator[list[str]]:
    """Collect the errors that the client only logs while it reads credentials, and then goes on without any."""
    complaints: list[str] = []
    before = _complaints.set(complaints)
    try:
        yield complaints
    finally:
        _complaints.reset(before)


_complaints: ContextVar[list[str] | None] = ContextVar("_complaints", default=None)
"""Of the load that runs here: more of them run at once when credentials expire."""


class _ComplaintHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        complaints = _complaints.get()
        if complaints is not None:
            complaints.append(" ".join(record.getMessage().split()))


_client_logger = logging.getLogger("kubernetes.aio.config.kube_config")
_client_logger.addHandler(_ComplaintHandler(logging.ERROR))
_client_logger.propagate = False


def _documents(path: str) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the files that exist, read.

    Raises:
        Rejected: there is none, or one cannot be read.
    """
    documents = [(file, _document(file)) for file in _files(path) if _exists(file)]
    if not documents:
        raise Rejected(f"there is no kubeconfig at {path}: name one with --kubeconfig or KUBECONFIG")
    return documents


def _files(path: str) -> list[Path]:
    # Not Path.expanduser: it raises where a container's user has no home, and then there is no such file.
    return [Path(os.path.expanduser(part)) for part in path.split(os.pathsep) if part]  # noqa: PTH111


def _exists(file: Path) -> bool:
    """Return whether the file exists, readable or not."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _document(file: Path) -> Mapping[str, Any]:
    try:
        document = yaml.safe_load(file.read_text())
    except OSError as error:
        raise Rejected(f"kubeconfig {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Rejected(f"kubeconfig {file} is no text") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"
        raise Rejected(f"kubeconfig {file}{place} is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise Rejected(f"kubeconfig {file} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, Mapping):
        raise Rejected(f"{file} is no kubeconfig: it has no contexts; name another with --kubeconfig or KUBECONFIG")
    return document


def _entries(documents: list[tuple[Path, Mapping[str, Any]]], plural: str) -> dict[str, _Entry]:
    """Return the contexts, clusters or users by name."""
    entries: dict[str, _Entry] = {}
    for file, document in documents:
        listed = document.get(plural) or []
        if not isinstance(listed, list):
            raise Rejected(f"kubeconfig {file}: {plural} must be a list")
        for number, item in enumerate(listed):
            body = item.get(plural[:-1]) if isinstance(item, Mapping) else None
            if not isinstance(item, Mapping) or "name" not in item or not isinstance(body or {}, Mapping):
                raise Rejected(f"kubeconfig {file}: {plural}[{number}] must have a name and a {plural[:-1]}")
            entries.setdefault(str(item["name"]), _Entry(str(item["name"]), body or {}, file))
    return entries


def _named(documents: list[tuple[Path, Mapping[str, Any]]], body: Mapping[str, Any], kind: str, about: str) -> _Entry:
    """Return the cluster or the user that a context names."""
    name = body.get(kind)
    if not name:
        raise Rejected(f"{about}: it names no {kind}")
    entry = _entries(documents, f"{kind}s").get(str(name))
    if entry is None:
        raise Rejected(f"{about}: it names {kind} {name}, which the kubeconfig does not have")
    return entry


def _check_files(entry: _Entry, keys: Mapping[str, str], about: str) -> None:
    for key, instead in keys.items():
        named = entry.body.get(key)
        if not named or entry.body.get(instead):
            continue
        file = entry.file.parent / str(named)
        try:
            file.open("rb").close()
        except OSError as error:
            raise Rejected(f"{about}: {key} {file} cannot be read: {error.strerror}") from error


def _check_program(user: _Entry, about: str) -> None:
    plugin = user.body.get("exec")
    command = plugin.get("command") if isinstance(plugin, Mapping) else None
    if command and shutil.which(str(command)) is None:
        raise Rejected(f"{about}: its credentials come from the program {command}, which is not in PATH: install it")


def _context_names(contexts: Mapping[str, _Entry], wanted: str) -> str:
    """Return the names of the contexts, those most like the wanted one first."""
    if not contexts:
        return "it has none"
    alike = difflib.get_close_matches(wanted, contexts, n=_NAMES_TOLD)
    names = [*alike, *(name for name in sorted(contexts) if name not in alike)]
    more = f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else ""
    return f"it has {', '.join(names[:_NAMES_TOLD])}{more}"
