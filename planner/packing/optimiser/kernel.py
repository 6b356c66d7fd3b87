"""How kernels are compiled and kept: `@kernel` in the place of numba's own decorator.

Numba keeps compiled code by the one file that a function stands in, and does not see that a function which it
calls has changed in another. Here what is kept belongs to all sources of kernels in this folder together.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from numba import config, njit
from numba.core import event
from numba.core.caching import FunctionCache, InTreeCacheLocator, UserProvidedCacheLocator, UserWideCacheLocator

_Function = TypeVar("_Function", bound=Callable[..., Any])

_COMPILED: Final = (b"@kernel", b"@borrowing", b"NamedTuple")
"""What the source of every kernel, and of all that kernels are given, has in it."""
_WITHOUT_REFERENCES: Final[dict[str, Any]] = {"_nrt": False}
"""An option that numba's types do not name."""
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


class Kept(FunctionCache):
    """What is kept of one kernel. Where it cannot be read or written, the kernel is compiled: no more depends on it."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None if there is none."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - pickle raises whatever a file that was cut off happens to spell
            # Numba would stumble over the same file when it writes.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code."""
        with suppress(OSError):
            super().save_overload(sig, data)


def kernel(function: _Function) -> _Function:
    """Return the function as one that is compiled when it is first called, and kept where a folder can be written."""
    return _kept(function, njit(function))


def borrowing(function: _Function) -> _Function:
    """Return a kernel that makes and returns no array, so that it counts no references to those that it is given.

    Counting takes a third of the time of a search, as it is done for each array in each call. Numba refuses to compile
    such a kernel if it makes an array.
    """
    return _kept(function, njit(**_WITHOUT_REFERENCES)(function))


def _kept(function: _Function, dispatcher: Any) -> _Function:
    # Numba raises this where it has no such folder. Its own `cache=True` would do without `Kept`, and then fail.
    with suppress(RuntimeError):
        setattr(dispatcher, "_cache", Kept(function))  # noqa: B010 - as its `enable_caching`; its types do not name it
    return cast("_Function", dispatcher)


@contextmanager
def before_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Call `tell` when the body compiles a first kernel, with whether it can be kept; not when it only loads."""
    with event.install_listener("numba:compile", _First(tell)):
        yield


class _First(event.Listener):
    """Hears of each compilation, of which numba tells before it begins and only where nothing was kept."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._is_over = False

    def on_start(self, event: event.Event) -> None:
        if not self._is_over:
            self._is_over = True
            dispatcher = (event.data or {}).get("dispatcher")
            self._tell(isinstance(getattr(dispatcher, "_cache", None), Kept))

    def on_end(self, event: event.Event) -> None:
        """Do nothing."""
