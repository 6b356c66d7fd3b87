"""How kernels are compiled and kept: `@kernel` in the place of numba's own decorator.

Numba keeps compiled code by the one file that a function stands in, and does not see that a function which it
calls has changed in another. Here what is kept belongs to all sources of kernels in this folder together.
"""

import hashlib
from pathlib import Path
from typing import Final

from numba import config, njit
from numba.core.caching import InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator

_COMPILED: Final = (b"@kernel", b"NamedTuple")
"""What the source of every kernel, and of all that kernels are given, has in it."""
_SOURCES: Final = hashlib.sha256(
    b"\0".join(
        source
        for path in sorted(Path(__file__).parent.glob("*.py"))
        if any(word in (source := path.read_bytes()) for word in _COMPILED)
    )
).digest()


class _Stamp:
    def get_source_stamp(self) -> bytes:
        """Return a stamp that changes whenever a kernel may have."""
        return _SOURCES


class Named(_Stamp, UserProvidedCacheLocator):
    """In the folder that NUMBA_CACHE_DIR names."""


class Beside(_Stamp, InTreeCacheLocator):
    """In `__pycache__` beside the source."""


class OfUser(_Stamp, UserWideCacheLocator):
    """In the user's cache folder."""


_LOCATORS: Final = ",".join(f"{one.__module__}.{one.__qualname__}" for one in (Named, Beside, OfUser))


# Read once, when the first function is decorated; numba's types do not name it.
setattr(config, "CACHE_LOCATOR_CLASSES", _LOCATORS)  # noqa: B010

kernel: Final = njit(cache=True)
