"""Writes the page of peers' settings, docs/conversions.md, from the tables of `growth convert`.

`python -m pages.conversions` writes it; with --check it only says whether it is fresh.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pages.generated import write_or_check
from worker.commands.convert.peer_setting import PeerTable
from worker.commands.convert.tables import cluster_autoscaler, escalator, karpenter, vpsie

FILE: Final = Path(__file__).resolve().parent.parent / "docs" / "conversions.md"
"""Where a checkout keeps the page."""
_HEAD: Final = """\
# What becomes of each setting of another autoscaler

[`growth convert`](migrating.md) goes by these tables. A setting that has no equal here is below its table, with the
reason; the command says so in a comment, and `--check` lists it. One that is on this page nowhere is told as not known.
Written from the code by `make drawings`.
"""
TABLES: Final[Mapping[str, Mapping[str, PeerTable]]] = {
    "Escalator": {"Node group": escalator.OPTIONS, "Flags": escalator.FLAGS},
    "VPSie": {"NodeGroup": vpsie.NODE_GROUP, "AutoscalerConfig": vpsie.CONFIG, "Flags": vpsie.FLAGS},
    "Cluster Autoscaler": {
        "Flags": cluster_autoscaler.FLAGS,
        "Variables for Hetzner Cloud": cluster_autoscaler.VARIABLES,
        "HCLOUD_CLUSTER_CONFIG": cluster_autoscaler.CONFIG,
        "Priority expander": cluster_autoscaler.PRIORITIES,
    },
    "Karpenter": {
        "NodePool": karpenter.POOL,
        "Keys of requirements": karpenter.REQUIREMENTS,
        "EC2NodeClass": karpenter.EC2_CLASS,
    },
}
"""Tables by peer and heading."""


def page() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    for peer, tables in TABLES.items():
        yield f"## {peer}\n"
        for heading, table in tables.items():
            yield f"### {peer}: {heading}\n"
            yield from _rows(table)
            yield ""


def _rows(table: PeerTable) -> Iterator[str]:
    """Yield the rows of a table, then the settings without an equal by their reason."""
    with_equal = {name: row for name, row in table.items() if row.becomes}
    if with_equal:
        yield "| setting | here | |\n|---|---|---|"
        yield from (f"| `{name}` | {row.becomes} | {row.why} |" for name, row in with_equal.items())
    reasons: dict[str, list[str]] = {}
    for name, row in table.items():
        if not row.becomes:
            reasons.setdefault(row.why, []).append(f"`{name}`")
    if reasons:
        yield "\nNo equal:\n" if with_equal else "No equal:\n"
        yield from (f"- {', '.join(names)}: {why}." for why, names in reasons.items())


def main(arguments: Sequence[str], file: Path = FILE) -> int:
    """Write the page, or with --check compare it; return the exit code."""
    return write_or_check(arguments, file, page(), source="the tables of growth convert say")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
