"""One history from its seed: played, judged, and told of in a form that crosses processes."""

import gc
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from simulator.campaign import setup as scenario
from simulator.campaign.actors.cloud_faults import KwokWeather, Weather
from simulator.campaign.actors.deaths import AFTER, SHARE
from simulator.campaign.actors.slow_starts import with_slow_starts
from simulator.campaign.choices import with_choices
from simulator.campaign.hetzner import setup as hetzner_scenario
from simulator.campaign.hetzner.cloud_faults import HetznerWeather
from simulator.campaign.judging.recorder import ON_TRIAL
from simulator.campaign.paces import with_paces
from simulator.campaign.packers import packers_of
from simulator.campaign.policies import with_policies
from simulator.campaign.pool_sums import with_sums
from simulator.campaign.scenario import Scenario, Unsettled
from simulator.campaign.setup import Setup
from simulator.campaign.spare_room import with_spare_room
from simulator.simulation import Simulation, simulate

_PURCHASES: Final = 12
_PURCHASES_PER_POD: Final = 1.0
"""Servers that may be bought in a history; more would be a buying loop. Measured: see the campaign's table."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What histories with one provider have of their own."""

    draw: Callable[[Random, Random], Setup]
    weather: Callable[[Simulation, Random], Weather]
    calls: int
    calls_per_server: int
    calls_per_second: float
    """Together so many calls may be made about servers; more would be a calling loop. Measured, as purchases."""


PACED: Final = "kwok-paced"
"""The provider kwok, with pools that pace how they grow and shrink."""
_SIMULATED: Final = ("kwok", PACED)
_KWOK: Final = _Kind(scenario.draw, KwokWeather, calls=400, calls_per_server=80, calls_per_second=0.1)
_KINDS: Final[Mapping[str, _Kind]] = {
    "kwok": _KWOK,
    PACED: _KWOK,
    # An account has 3,600 calls an hour for all that use it: a lifecycle of a machine takes about ten, most in lists.
    "hetzner": _Kind(hetzner_scenario.draw, HetznerWeather, calls=60, calls_per_server=25, calls_per_second=0.3),
}
PROVIDERS: Final = tuple(_KINDS)
"""What histories can be played with: names of providers, and how pools are."""


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """What came of a history."""

    seed: int
    wrong: tuple[str, ...]
    counts: Counter[str]
    seconds: float
    """Virtual ones."""
    log: tuple[str, ...]


def play(seed: int, provider: str = "kwok") -> HistoryResult:
    """Play the history of this seed and return what came of it. The same seed gives the same log in any process."""
    kind = _KINDS[provider]
    random = Random(seed)  # noqa: S311 - a simulation wants repeatable choices, not secrets
    drawn = kind.draw(random, Random(f"drains of {seed}"))  # noqa: S311 - as above
    deaths = _deaths(seed, drawn) if provider in _SIMULATED else None
    if provider in _SIMULATED:
        drawn = with_slow_starts(drawn, Random(f"starts of {seed}"))  # noqa: S311 - as above
        drawn = with_policies(drawn, Random(f"policies of {seed}"))  # noqa: S311 - as above
        drawn = with_sums(drawn, Random(f"sums of {seed}"))  # noqa: S311 - as above
        drawn = with_spare_room(drawn, Random(f"spare room of {seed}"))  # noqa: S311 - as above
        drawn = with_choices(drawn, Random(f"choices of {seed}"))  # noqa: S311 - as above
    if provider == PACED:
        drawn = with_paces(drawn, Random(f"paces of {seed}"))  # noqa: S311 - as above
    packers = packers_of(seed)
    scenarios: list[Scenario] = []
    wrong: list[str] = []

    async def story(sim: Simulation) -> None:
        weather = kind.weather(sim, random)
        whose = ("volumes", "tenants", "standstills", "maintainers")
        streams = {name: Random(f"{name} of {seed}") for name in whose}  # noqa: S311 - as above
        history = Scenario(sim, drawn, weather, random, **streams, deaths=deaths)
        scenarios.append(history)
        sim.pod_ends = history.pod_ends
        sim.equip = lambda ports: replace(history.real_nodes.equip(weather.equip(ports)), packers=packers)
        try:
            await history.run()
        except Unsettled as error:
            wrong.append(str(error))

    # What a history leaves in cycles can wait for its end, and looking for it all the time takes a tenth of it.
    gc.disable()
    # Nor is it among what was there before: modules alone take longer to search than most histories' remains.
    gc.freeze()
    logging.disable(logging.CRITICAL)
    try:
        sim = simulate(
            seed,
            story,
            objects=drawn.objects,
            longest_binding=drawn.longest_binding,
            has_worker=False,
            make_world=drawn.make_world,
        )
    finally:
        logging.disable(logging.NOTSET)
        gc.enable()
        gc.collect()
        gc.unfreeze()
    (history,) = scenarios
    counts = _counts(history)
    wrong += [
        *history.judges.wrong(),
        *history.plug_ins.violations,
        *history.real_nodes.violations,
        *history.headroom.violations,
    ]
    wrong += _excess(counts, kind, sim.seconds())
    return HistoryResult(seed, tuple(wrong), counts, sim.seconds(), tuple(sim.log))


def _deaths(seed: int, drawn: Setup) -> Random | None:
    """Return what decides whose kubelet dies, None if none does; pools then say when such machines go."""
    deaths = Random(f"deaths of {seed}")  # noqa: S311 - a simulation wants repeatable choices, not secrets
    if deaths.random() >= SHARE:
        return None
    for pool in drawn.pools.values():
        pool["spec"]["scaleDown"]["repair"] = {"after": deaths.choice(AFTER)}
    return deaths


def _counts(history: Scenario) -> Counter[str]:
    counts = Counter(history.witness.counts)
    counts.update({f"call: {verb}": number for verb, number in history.cloud.calls.items()})
    counts.update({f"call for the class: {verb}": number for verb, number in history.cloud.class_calls.items()})
    counts.update({f"met: {trouble}": number for trouble, number in history.cloud.met.items()})
    return counts


def _excess(counts: Counter[str], kind: _Kind, seconds: float) -> list[str]:
    wrong: list[str] = []
    bought, pods = counts["servers bought"], counts["pods created"]
    if bought - counts[ON_TRIAL] > _PURCHASES + _PURCHASES_PER_POD * pods:
        wrong.append(f"{bought} servers were bought for {pods} pods")
    calls = sum(number for what, number in counts.items() if what.startswith("call: "))
    if calls > kind.calls + kind.calls_per_server * bought + kind.calls_per_second * seconds:
        wrong.append(f"the provider was called {calls} times for {bought} servers")
    return wrong
