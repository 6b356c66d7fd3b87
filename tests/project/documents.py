"""What in the documents can be tried: blocks of commands, of objects and of what a command prints."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml

from api.keys import API_VERSION

ROOT: Final = Path(__file__).resolve().parents[2]
WALKED: Final = MappingProxyType(
    {
        "README.md": "tests/e2e/test_readme.py",
        "docs/operations.md": "tests/e2e/test_operations.py",
        "docs/hetzner.md": "tests/e2e/test_hetzner_document.py",
    }
)
"""Documents whose commands on a cluster a test runs in their order. Other documents may repeat those and no others."""
ELSEWHERE: Final = MappingProxyType(
    {
        "docker build ": "needs a container runtime; the recipe itself is read by tests/project/test_deploy.py",
        "kwokctl create cluster": "needs KWOK's program and a container runtime; the walk has a control plane",
        "growth demo": "takes a minute and may stay; tests/worker/demo plays it, `make demo` is a target",
    }
)
"""Commands that no test of the documents runs as they stand, by how they begin, each with the reason."""

_ON_A_CLUSTER: Final = re.compile(
    r"\b(kubectl|curl)\b(?! kustomize)"
    r"|\bgrowth (run|status|why|pause|resume|requests|removals|purge|catalogue(?! -f))\b",
    re.ASCII,
)
_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
_INLINE: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    """Of its first line of text."""
    heading: str
    """The nearest one above it."""
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.document}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """A line of a shell block, with the lines that continue it."""

    text: str
    block: Block
    prints: Block | None = field(default=None, compare=False)
    """What the document says that it prints: the text block right after its shell block."""

    @property
    def needs_cluster(self) -> bool:
        """Whether it is for a cluster with Growth on it."""
        return bool(_ON_A_CLUSTER.search(self.text)) and not self.is_elsewhere

    @property
    def is_target(self) -> bool:
        """Whether it is a make target, which continuous integration runs as such."""
        return self.text.startswith("make ")

    @property
    def is_elsewhere(self) -> bool:
        """Whether no test of the documents runs it."""
        return any(self.program.startswith(beginning) for beginning in ELSEWHERE)

    @property
    def program(self) -> str:
        """Return the command without the folder of its program."""
        return self.text.removeprefix(".venv/bin/")


def documents() -> list[str]:
    """Return the paths of README.md and of all below docs, from the root."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [str(path.relative_to(ROOT)) for path in found]


def blocks(document: str) -> list[Block]:
    """Return the fenced blocks of a document in their order."""
    text = (ROOT / document).read_text()
    found: list[Block] = []
    for match in _FENCE.finditer(text):
        start = match.start(2)
        # A line of a shell block may begin as a heading does; a heading is looked for outside of blocks only.
        above = _FENCE.sub("", text[: match.start()])
        headings = _HEADING.findall(above)
        found.append(Block(document, text.count("\n", 0, start) + 1, headings[-1] if headings else "", *match.groups()))
    return found


def commands(document: str) -> list[Command]:
    """Return the lines of a document's shell blocks in their order; of each block the last one has what it prints."""
    found: list[Command] = []
    all_blocks = blocks(document)
    for i, block in enumerate(all_blocks):
        if block.language != "sh":
            continue
        lines = [line for line in block.text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
        after = all_blocks[i + 1] if i + 1 < len(all_blocks) else None
        follows = after is not None and after.line == block.line + block.text.count("\n") + 3
        prints = after if follows and after is not None and after.language == "text" else None
        found += [Command(" ".join(line.split()), block, prints if line is lines[-1] else None) for line in lines]
    return found


def inline(document: str) -> Iterator[str]:
    """Yield the pieces of code in the running text of a document; `a|b` stands for both."""
    for piece in _INLINE.findall(_FENCE.sub("", (ROOT / document).read_text())):
        words = [word.split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", word) else [word] for word in piece.split()]
        yield from (" ".join(choice) for choice in product(*words))


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its placeholders, words in capitals, replaced by what they stand for."""
    for placeholder, value in values.items():
        text = re.sub(rf"\b{placeholder}\b", value, text)
    return text


def objects() -> dict[str, dict[str, Any]]:
    """Return Growth's own objects that stand in documents, by where they do, with a machine's name filled in."""
    return {
        f"{block.where} {item['kind']}": item
        for document in documents()
        for block in blocks(document)
        if block.language == "yaml"
        for item in yaml.safe_load_all(filled_in(block.text, {"NAME": "default-1db2dd60f9"}))
        if item.get("apiVersion") == API_VERSION
    }
