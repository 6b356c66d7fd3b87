"""Values of Secrets and ConfigMaps."""

import base64
import binascii

from activities.ports.cluster import Object


def secret_value(secret: Object, key: str) -> str | None:
    """Return the text under a key of a Secret, or None if there is no such key or it is no text."""
    coded = (secret.get("data") or {}).get(key)
    if coded is None:
        return None
    try:
        return base64.b64decode(coded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError, TypeError):
        return None
