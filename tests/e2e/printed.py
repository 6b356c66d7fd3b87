"""Whether a command prints what a document says, apart from names, times and widths that differ each time."""

import re
from typing import Final

_CHANGES: Final = (
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b(default)-[0-9a-f]{10}\b"), "MACHINE"),
    (re.compile(r"\b([a-z]+)-[0-9a-f]{8,10}-[a-z0-9]{5}\b"), r"\1-POD"),
    (re.compile(r"\b(ReplicaSet [a-z]+)-[0-9a-f]{8,10}\b"), r"\1-SET"),
    (re.compile(r"\bclass [0-9a-f]{16}\b"), "class HASH"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "MOMENT"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "MOMENT"),
    (re.compile(r"\b(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?m?s)\b|\b\d+[dhm]\b"), "SPAN"),
    (re.compile(r"\s+"), " "),
)
LEFT_OUT: Final = "…"
"""At the end of a documented line it stands for any text, alone on a line for any lines."""


def differences(documented: str, printed: str) -> list[str]:
    """Return the documented lines that were not printed, in the order of the document."""
    left = [_alike(line) for line in printed.splitlines()]
    missing: list[str] = []
    for line in documented.splitlines():
        wanted = _alike(line)
        if wanted in {"", LEFT_OUT}:
            continue
        found = next((i for i, there in enumerate(left) if _is_told(wanted, there)), None)
        if found is None:
            missing.append(line)
        else:
            left = left[found + 1 :]
    return missing


def _is_told(wanted: str, printed: str) -> bool:
    if wanted.endswith(LEFT_OUT):
        return printed.startswith(wanted.removesuffix(LEFT_OUT).strip())
    return wanted == printed


def _alike(line: str) -> str:
    text = line.strip()
    for pattern, replacement in _CHANGES:
        text = pattern.sub(replacement, text)
    return text
