"""Custom resource definitions from the models: one source for Python, the API server and `kubectl explain`.

`python -m api.schema` writes them to deploy/crds; with --check it only says whether they are fresh.
"""

import json
import sys  # noqa: TID251 - a command beside pure functions: it writes what they return
from collections.abc import Iterable, Sequence
from pathlib import Path  # noqa: TID251 - as sys
from typing import Final

import yaml

from api.definitions import DEFINITIONS, Definition
from api.keys import API_VERSION, CATEGORY, GROUP, VERSION
from api.model import Model
from api.rules import RULES, Schema
from api.structural import structural_schema

FOLDER: Final = Path(__file__).resolve().parent.parent / "deploy" / "crds"
"""Where a checkout keeps the written definitions."""
_HEADER: Final = "# Written by `make crds` from the models in api/v1alpha1: change them there.\n"
_OBJECT: Final[Schema] = {
    "apiVersion": {"description": f"Group and version: {API_VERSION}.", "type": "string"},
    "kind": {"description": "Name of the kind.", "type": "string"},
    # Only restrictions on the name may stand here, and rules may look at declared fields only.
    "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 63}}},
}


def definition(wanted: Definition) -> Schema:
    """Return the CustomResourceDefinition of a kind.

    Raises:
        UnknownSchemaError: see `structural_schema`.
    """
    names: Schema = {
        "kind": wanted.kind,
        "listKind": f"{wanted.kind}List",
        "plural": wanted.plural,
        "singular": wanted.singular,
        "categories": [CATEGORY],
    } | ({"shortNames": [wanted.short_name]} if wanted.short_name else {})
    columns = [
        {"name": column.name, "type": column.type, "jsonPath": column.path, "priority": int(column.wide)}
        for column in wanted.columns
    ]
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": _object_schema(wanted.model)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{wanted.plural}.{GROUP}",
            "labels": {"app.kubernetes.io/name": "growth", "app.kubernetes.io/part-of": "growth"},
        },
        "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]},
    }


def _object_schema(model: type[Model]) -> Schema:
    whole = model.model_json_schema()
    parts = {
        name: structural_schema(annotation, defaults=name == "spec")
        for name in ("spec", "status")
        if isinstance(annotation := model.model_fields[name].annotation, type) and issubclass(annotation, Model)
    }
    return {
        "description": whole["description"],
        "type": "object",
        "required": ["spec"],
        "properties": _OBJECT | parts,
        RULES: whole[RULES],
    }


def render_definitions(further: Iterable[Definition] = ()) -> dict[str, str]:
    """Return the YAML of all definitions by file name: Growth's own, then those of `further` that are new."""
    rendered: dict[str, str] = {}
    for each in (*DEFINITIONS, *(one for one in further if one not in DEFINITIONS)):
        # Through JSON, so that a part used twice is written twice and not as a YAML alias.
        plain = json.loads(json.dumps(definition(each)))
        text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110)
        rendered[f"{GROUP}_{each.plural}.yaml"] = _HEADER + text if each in DEFINITIONS else text
    return rendered


def stale_files(folder: Path) -> list[str]:
    """Return the names of definition files in `folder` that are missing, old or of no kind any more."""
    wanted = render_definitions()
    written = {file.name: file.read_text() for file in folder.glob("*.yaml")}
    return sorted(name for name in wanted.keys() | written.keys() if wanted.get(name) != written.get(name))


def main(arguments: Sequence[str], folder: Path = FOLDER) -> int:
    """Write the files, or with --check compare them; return the exit code."""
    stale = stale_files(folder)
    if "--check" in arguments:
        for name in stale:
            sys.stderr.write(f"{folder / name} is not what the models say: run make crds\n")
        return 1 if stale else 0
    rendered = render_definitions()
    for name in stale:
        if name in rendered:
            (folder / name).write_text(rendered[name])
        else:
            (folder / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
