"""Text of others on a terminal: what would steer the terminal, or turn the text around, is shown as an escape.

Names, labels and messages come from files, pods and clouds. An escape sequence among them could hide a line, recolour a
refusal or set the title of the window; a lone surrogate could not be written at all.
"""

import re
from typing import Final

_STEERING: Final = re.compile(
    # C0 without tab and line end, DEL and C1; marks and overrides of direction; line separators; surrogates.
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def shown(text: str) -> str:
    """Return the text with everything that steers a terminal as an escape of Python's; lines and tabs stay."""
    return _STEERING.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode(), text)


def shown_line(text: str) -> str:
    """Return the text as one line: a name with a line end in it must not look like a line of its own."""
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")
