"""Changes raw objects deep inside."""

from typing import Any

Json = dict[str, Any]


def differing(raw: Json, change: Json) -> Json:
    """Return a copy of the object in which the fields of `change` stand; objects in it are merged, all else is set."""
    made = dict(raw)
    for key, value in change.items():
        own = made.get(key)
        made[key] = differing(own, value) if isinstance(own, dict) and isinstance(value, dict) else value
    return made
