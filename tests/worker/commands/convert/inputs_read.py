"""Inputs of the converters, and what is bought for pods once they are converted."""

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, Final

import yaml

from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import NodePool
from worker.commands.convert.command import convert

Json = dict[str, Any]
INPUTS: Final = Path(__file__).parent / "inputs"
ALONE: Final = {"node-configs.json": "hetzner.yaml"}
"""Files that are part of the configuration of another one."""
CLASS: Final = "KwokNodeClass/default"
MODELS: Final = {"NodePool": NodePool, "HetznerNodeClass": HetznerNodeClass}


def cases() -> list[tuple[str, list[str]]]:
    """Return each input: its peer and its files."""
    return [
        (folder.name, [str(folder / ALONE[file.name]), str(file)] if file.name in ALONE else [str(file)])
        for folder in sorted(INPUTS.iterdir())
        for file in sorted(folder.iterdir())
    ]


def converted(peer: Any, *files: Path | str, node_class: str | None = None, check: bool = False) -> str:
    """Return what the command prints."""
    with redirect_stdout(io.StringIO()) as printed:
        convert(peer, *map(str, files), node_class=node_class, check=check)
    return printed.getvalue()


def objects(text: str) -> list[Json]:
    """Return the objects of a text, each of which its model can read."""
    items = list(yaml.safe_load_all(text))
    for item in items:
        read(MODELS[item["kind"]], item)
    return items


def pools(peer: Any, *files: Path | str, node_class: str | None = None) -> dict[str, Json]:
    """Return the specs of the pools by name."""
    items = objects(converted(peer, *files, node_class=node_class))
    return {item["metadata"]["name"]: item["spec"] for item in items if item["kind"] == "NodePool"}


def pool_of(peer: Any, text: str, folder: Path) -> Json:
    """Return the spec of the only pool that a text becomes."""
    file = folder / "input.yaml"
    file.write_text(text)
    (spec,) = pools(peer, file, node_class=CLASS).values()
    return spec


def stdin(monkeypatch: Any, text: bytes) -> None:
    """Have standard input be a text."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
