"""The loop: the world goes on to its next moment, then the autoscaler looks."""

from collections.abc import Callable
from typing import Protocol

from benchmarks.churn.stream import Stream
from benchmarks.churn.world import TICK, World


class Autoscaler(Protocol):
    """A side of the comparison."""

    def look(self) -> int | None:
        """Do what is due now, and return when time alone next asks for a look."""
        ...


def run(stream: Stream, side: Callable[[World], Autoscaler], watch: Callable[[World], None] = lambda _: None) -> World:
    """Return the world at the end of the stream; `watch` is called after each moment."""
    world = World(stream)
    autoscaler = side(world)
    now = 0
    while True:
        world.step(now)
        version = world.version
        wake = autoscaler.look()
        watch(world)
        moments = [at for at in (world.next_at(), wake) if at is not None]
        if world.version != version:
            # The scheduler sees what was done.
            moments.append(now + TICK)
        following = max(now + TICK, -(-min(moments, default=stream.seconds) // TICK) * TICK)
        if following >= stream.seconds:
            world.step(stream.seconds)
            watch(world)
            return world
        now = following
