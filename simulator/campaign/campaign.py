"""Many histories in a row, on several processes, and what came of them."""

import multiprocessing
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from simulator.campaign.hetzner.mutations import HETZNER_MUTATIONS
from simulator.campaign.history import play
from simulator.campaign.mutations.choices import CHOICE_MUTATIONS
from simulator.campaign.mutations.clocks import CLOCK_MUTATIONS
from simulator.campaign.mutations.kept_machines import KEPT_MACHINE_MUTATIONS
from simulator.campaign.mutations.lifecycles import LIFECYCLE_MUTATIONS
from simulator.campaign.mutations.moved_pods import MOVED_POD_MUTATIONS
from simulator.campaign.mutations.paces import PACE_MUTATIONS
from simulator.campaign.mutations.planting import Mutation, planted
from simulator.campaign.mutations.plug_ins import PLUG_IN_MUTATIONS
from simulator.campaign.mutations.real_nodes import REAL_NODE_MUTATIONS
from simulator.campaign.mutations.repairs import REPAIR_MUTATIONS
from simulator.campaign.mutations.slow_starts import SLOW_MUTATIONS
from simulator.campaign.mutations.spare_room import SPARE_ROOM_MUTATIONS
from simulator.campaign.mutations.tenants import TENANT_MUTATIONS

ALL_MUTATIONS: Final = (
    *LIFECYCLE_MUTATIONS,
    *REPAIR_MUTATIONS,
    *CLOCK_MUTATIONS,
    *SLOW_MUTATIONS,
    *SPARE_ROOM_MUTATIONS,
    *CHOICE_MUTATIONS,
    *TENANT_MUTATIONS,
    *PLUG_IN_MUTATIONS,
    *REAL_NODE_MUTATIONS,
    *KEPT_MACHINE_MUTATIONS,
    *MOVED_POD_MUTATIONS,
    *PACE_MUTATIONS,
    *HETZNER_MUTATIONS,
)
_AT_ONCE: Final = 4
"""Seeds that a process is handed at once."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a process tells of one history: its log stays where it is, for the seed brings it back."""

    seed: int
    wrong: tuple[str, ...]
    counts: Counter[str]
    seconds: float


def judge(seed: int, provider: str = "kwok") -> Verdict:
    """Play one history and return what came of it; what breaks it is wrong with it."""
    try:
        outcome = play(seed, provider)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is this seed's finding
        return Verdict(seed, tuple(traceback.format_exception_only(_cause(error))), Counter(), 0.0)
    return Verdict(seed, outcome.wrong, outcome.counts, outcome.seconds)


def _cause(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def run(seeds: range, *, jobs: int, provider: str = "kwok") -> Iterator[Verdict]:
    """Yield the verdict on every seed, in the order of seeds."""
    if jobs == 1:
        yield from (judge(seed, provider) for seed in seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(partial(judge, provider=provider), seeds, chunksize=_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Catch:
    """Whether histories found a planted fault."""

    mutation: Mutation
    seeds: int
    """Played until one found it, or in vain."""
    violation: str
    """What was wrong in that history; empty if none found it."""


def catch(mutation: Mutation, first: int = 0) -> Catch:
    """Plant the fault and play histories until one goes wrong, or `mutation.within` are played.

    Raises:
        Exception: any that breaks a history. It is no finding: the planted code does not fit the code around it.
    """
    with planted(mutation):
        for number in range(mutation.within):
            outcome = play(first + mutation.first + number, mutation.provider)
            if outcome.wrong:
                return Catch(mutation, number + 1, outcome.wrong[0])
    return Catch(mutation, mutation.within, "")


def catches(*, jobs: int, first: int = 0) -> Iterator[Catch]:
    """Yield the result for each planted fault, in the order of `ALL_MUTATIONS`."""
    if jobs == 1:
        yield from (_catch_at(first, index) for index in range(len(ALL_MUTATIONS)))
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap(partial(_catch_at, first), range(len(ALL_MUTATIONS)))


def _catch_at(first: int, index: int) -> Catch:
    return catch(ALL_MUTATIONS[index], first)


@dataclass(slots=True)
class Tally:
    """What happened in all histories together."""

    seeds: int = 0
    seconds: float = 0.0
    """Virtual ones."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often what happened."""
    histories: Counter[str] = field(default_factory=Counter)
    """In how many histories it happened."""
    failed: list[Verdict] = field(default_factory=list)

    def add(self, verdict: Verdict) -> None:
        """Take one verdict."""
        self.seeds += 1
        self.seconds += verdict.seconds
        self.counts += verdict.counts
        self.histories.update(what for what, number in verdict.counts.items() if number)
        if verdict.wrong:
            self.failed.append(verdict)

    def calls_per_server(self) -> float:
        """Return the calls about servers per server that was bought."""
        calls = sum(number for what, number in self.counts.items() if what.startswith("call: "))
        return calls / max(1, self.counts["servers bought"])

    def table(self) -> str:
        """Return the counts of events, for people."""
        width = max(map(len, self.counts), default=0)
        rows = [f"{'what':<{width}} {'times':>8} {'in histories':>12}"]
        rows += [f"{what:<{width}} {n:>8} {self.histories[what]:>12}" for what, n in sorted(self.counts.items())]
        return "\n".join(rows)
