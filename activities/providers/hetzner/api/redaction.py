"""Redacts secrets from messages: Hetzner's own hold half of a token, or repeat what was sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

_REDACTED: Final = "[redacted]"
_TOKEN_RUN: Final = 16
"""Characters. So many of a token's 64 in a row are no accident, while eight may be a word such as `readonly`; whoever
knows fewer still has 48 to guess."""
_SHORTEST_RUN: Final = 4
"""Characters, for a token that is no real one: less would blot out ordinary words."""
_TEXT_RUN: Final = 16
"""Characters. User data is full of ordinary words, which a message must be able to use."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text of which no part may be told."""

    text: str = field(repr=False)
    run: int
    """How many characters of it in a row count as a part."""


def token_secret(token: str) -> Secret:
    """Return the token as a secret: any half of it counts as a part, and much less."""
    return Secret(token, min(_TOKEN_RUN, max(_SHORTEST_RUN, len(token) // 2)))


def text_secret(text: str) -> Secret:
    """Return a longer text as a secret, such as user data: a line of it counts as a part."""
    return Secret(text, _TEXT_RUN)


def redacted(content: Any, secrets: Sequence[Secret]) -> Any:
    """Return text, or JSON, with each part of a secret blotted out."""
    match content:
        case str():
            for secret in secrets:
                content = _without(content, secret)
            return content
        case Mapping():
            return {key: redacted(value, secrets) for key, value in content.items()}
        case list() | tuple():
            return [redacted(each, secrets) for each in content]
        case _:
            return content


def _without(text: str, secret: Secret) -> str:
    run = secret.run
    parts = {secret.text[start : start + run] for start in range(len(secret.text) - run + 1)}
    is_secret = [False] * len(text)
    for start in range(len(text) - run + 1):
        if text[start : start + run] in parts:
            is_secret[start : start + run] = [True] * run
    runs = groupby(zip(text, is_secret, strict=True), key=itemgetter(1))
    return "".join(_REDACTED if hidden else "".join(letter for letter, _ in letters) for hidden, letters in runs)
