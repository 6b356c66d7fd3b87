"""What the load of a stream costs at best, hour by hour: the lower bound, and packing all pods anew from nothing."""

from dataclasses import dataclass

from benchmarks.churn.stream import Stream
from benchmarks.churn.view import ChurnView
from benchmarks.churn.world import ChurnWorld
from planner.packing.problem import Packer
from planner.plan import plan
from simulator.peers.fleet import HOUR


@dataclass(frozen=True, slots=True)
class Reference:
    """Integrals over the time of a stream, in its currency."""

    bound: float
    """No machines for the pods of each hour cost less."""
    anew: float
    """Of Growth's optimiser, with all pods packed anew each hour onto machines that are there at once."""


def reference(stream: Stream, packer: Packer, every: int = HOUR) -> Reference:
    """Return the reference of a stream, from the pods in the middle of each hour."""
    view = ChurnView(ChurnWorld(stream), {})
    bound = anew = 0.0
    for begin in range(0, stream.seconds, every):
        seconds = min(every, stream.seconds - begin)
        at = begin + seconds // 2
        made = plan(view.empty_cluster(stream.wanted(at), at), packer)
        if made.unplaced:
            raise AssertionError(f"{len(made.unplaced)} pods have no place, first {made.unplaced[0]}")
        bound += float(made.lower_bound_per_hour) * seconds / HOUR
        anew += float(made.cost_per_hour) * seconds / HOUR
    return Reference(bound, anew)
