"""One history from its seed: played, judged, and told of in a form that crosses processes."""

import gc
import logging
from collections import Counter
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from activities.ports import Ports
from simulator.campaign.cloud import CloudClient
from simulator.campaign.scenario import draw
from simulator.campaign.story import Story, Unsettled
from simulator.simulation import Simulation, simulate

_PURCHASES: Final = 12
_PURCHASES_PER_POD: Final = 1.0
"""Servers that may be bought in a history; more would be a buying loop. Measured: see the campaign's table."""
_CALLS: Final = 400
_CALLS_PER_SERVER: Final = 80


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history."""

    seed: int
    wrong: tuple[str, ...]
    counts: Counter[str]
    seconds: float
    """Virtual ones."""
    log: tuple[str, ...]


def play(seed: int) -> Outcome:
    """Play the history of this seed and return what came of it. The same seed gives the same log in any process."""
    random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets
    scenario = draw(random, Random(f"drains of {seed}"))  # noqa: S311 - as above
    told: list[Story] = []
    wrong: list[str] = []

    async def story(sim: Simulation) -> None:
        history = Story(sim, scenario, random)
        told.append(history)
        sim.pod_ends = history.pod_ends
        sim.equip = lambda ports: _equipped(ports, history)
        try:
            await history.run()
        except Unsettled as error:
            wrong.append(str(error))

    # What a history leaves in cycles can wait for its end, and looking for it all the time takes a tenth of it.
    gc.disable()
    logging.disable(logging.CRITICAL)
    try:
        sim = simulate(
            seed,
            story,
            objects=scenario.objects,
            longest_binding=scenario.longest_binding,
            has_worker=False,
        )
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()
        gc.collect()
    (history,) = told
    counts = _counts(history)
    wrong += [*history.rules.violations, *history.leaving.violations, *history.rules.garbage(sim.log), *_excess(counts)]
    return Outcome(seed, tuple(wrong), counts, sim.seconds(), tuple(sim.log))


def _equipped(ports: Ports, history: Story) -> Ports:
    clients = {kind: CloudClient(provider, history.cloud) for kind, provider in ports.providers.items()}
    return replace(ports, providers=clients)


def _counts(history: Story) -> Counter[str]:
    counts = Counter(history.witness.counts)
    counts.update({f"call: {verb}": number for verb, number in history.cloud.calls.items()})
    counts.update({f"met: {trouble}": number for trouble, number in history.cloud.met.items()})
    return counts


def _excess(counts: Counter[str]) -> list[str]:
    wrong: list[str] = []
    bought, pods = counts["servers bought"], counts["pods created"]
    if bought > _PURCHASES + _PURCHASES_PER_POD * pods:
        wrong.append(f"{bought} servers were bought for {pods} pods")
    calls = sum(number for what, number in counts.items() if what.startswith("call: "))
    if calls > _CALLS + _CALLS_PER_SERVER * bought:
        wrong.append(f"the provider was called {calls} times for {bought} servers")
    return wrong
