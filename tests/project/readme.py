"""The commands that the README tells a newcomer to type."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_ON_A_CLUSTER = ("kubectl", *(f"growth {command}" for command in ("run", "status", "why", "requests", "removals")))
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """Return the lines of all shell blocks of README.md."""
    blocks = _BLOCK.findall((ROOT / "README.md").read_text())
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def needs_cluster(command: str) -> bool:
    """Return whether the command is one of those that a cluster must be there for: `make e2e` runs them."""
    return any(word in command for word in _ON_A_CLUSTER)


def is_target(command: str) -> bool:
    """Return whether it is a make target, which continuous integration runs as such."""
    return command.startswith("make ")
