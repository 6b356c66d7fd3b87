"""Counts the calls to providers and how they end."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Final, cast

from opentelemetry.metrics import Counter

from activities.ports.errors import GrowthError
from activities.ports.provider import Provider
from worker.metrics import PROVIDER_CALLS, counter

CALLS: Final = ("create", "get", "list", "delete", "label", "tend")
"""Methods of a provider that ask a cloud."""
OK: Final = "ok"


def counted(provider: Provider) -> Provider:
    """Return the provider, its calls counted by their outcome."""
    return cast("Provider", _Counted(provider, counter(PROVIDER_CALLS)))


class _Counted:
    """Is the provider in all but that it counts."""

    def __init__(self, provider: Provider, calls: Counter) -> None:
        self._provider = provider
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._provider, name)
        return self._count(name, attribute) if name in CALLS else attribute

    def _count(self, name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        labels = {"provider": self._provider.node_classes.kind, "call": name}

        @wraps(call)
        async def measured(*args: Any, **more: Any) -> Any:
            try:
                done = await call(*args, **more)
            except GrowthError as error:
                # The class, not its reason: there are few of them, and each says what to do.
                self._calls.add(1, {**labels, "outcome": type(error).__name__})
                raise
            self._calls.add(1, {**labels, "outcome": OK})
            return done

        return measured
