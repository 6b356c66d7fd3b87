"""The loop: the world goes on to its next moment, then the autoscaler looks."""

from collections.abc import Callable
from typing import Protocol

from benchmarks.churn.stream import Stream
from benchmarks.churn.world import TICK, ChurnWorld


class Autoscaler(Protocol):
    """A side of the comparison."""

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        ...


class Onlooker(Protocol):
    """Somebody who looks on."""

    def look(self) -> None:
        """Look at the world as it is at this moment."""
        ...


def run(
    stream: Stream, side: Callable[[ChurnWorld], Autoscaler], watch: Callable[[ChurnWorld], Onlooker]
) -> ChurnWorld:
    """Return the world at the end of the stream; who watches looks after each moment."""
    world = ChurnWorld(stream)
    autoscaler, watching = side(world), watch(world)
    now = 0
    while now < stream.seconds:
        world.step(now)
        version = world.version
        wake = autoscaler.look()
        watching.look()
        moments = [at for at in (world.next_at(), wake) if at is not None]
        if world.version != version:
            # The scheduler sees what was done.
            moments.append(now + TICK)
        now = max(now + TICK, -(-min(moments, default=stream.seconds) // TICK) * TICK)
    world.step(stream.seconds)
    watching.look()
    return world
