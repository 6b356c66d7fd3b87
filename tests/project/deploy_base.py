"""The kustomize base, as kubectl renders it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "deploy" / "kustomize" / "base"


def rendered_base() -> list[dict[str, Any]]:
    """Return the objects that `kubectl apply -k` would apply, in its order."""
    command = [str(Path(sys.prefix) / "bin" / "kubectl"), "kustomize", str(BASE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def one(objects: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the only object of the kind."""
    (found,) = (item for item in objects if item["kind"] == kind)
    return found
