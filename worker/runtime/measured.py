"""Ports that are measured: what rounds see and how long they take, and how calls to providers end."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Final, cast

from opentelemetry import trace
from opentelemetry.metrics import Counter

from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from activities.ports.provider import Provider
from planner.model.stages import Stage
from worker.metric import counter, histogram
from worker.metrics import PLANNING, PROVIDER_CALLS
from worker.runtime.round_gauges import RoundGauges

CALLS: Final = ("create", "get", "list", "delete", "label", "tend")
"""Methods of a provider that ask a cloud."""
OK: Final = "ok"


def measured(ports: Ports) -> Ports:
    """Return the ports with metrics; once in a process, whose metrics they are."""
    return replace(
        ports,
        providers={kind: counted(provider) for kind, provider in ports.providers.items()},
        tell_stages=StageSeconds(),
        tell_round=RoundGauges(ports.elapsed),
    )


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


class StageSeconds:
    """Tells of rounds, one after the other."""

    def __init__(self) -> None:
        self._seconds = histogram(PLANNING)

    def __call__(self, seconds: Mapping[Stage, float]) -> None:
        """Tell of one round, by stage, within the span of its activity."""
        span = trace.get_current_span()
        for stage, number in seconds.items():
            self._seconds.record(number, {"stage": stage})
            span.set_attribute(f"growth.planning.{stage}_seconds", number)
