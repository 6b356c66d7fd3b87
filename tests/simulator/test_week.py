"""A week in virtual time: whatever comes and goes each day, nothing is left of it and nothing grows."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest

from activities.ports.cluster import CONFIG_MAPS, EVENTS, NODE_REMOVAL_REQUESTS, PODS
from api.v1alpha1.lifecycle import EVENTS_KEPT
from simulator.campaign.actors.cloud import Cloud
from simulator.campaign.judging.invariants import Rules
from simulator.campaign.judging.recorder import Witness
from simulator.simulation import Simulation, simulate
from tests.simulator.gauges import Gauges
from tests.simulator.week import (
    DAYS,
    DRAIN_BEGINS,
    DRAIN_ENDS,
    FEWEST,
    OBJECTS,
    Week,
    load,
)

KIB = 1024
MOST_SERVERS = 14
"""More would be a buying loop: the largest load of an hour takes ten machines, and two stay that shall go."""
MOST_BOUGHT_A_DAY = 12
"""A day has three waves of web and jobs, which take nine machines. More would be a buying loop too."""
PAYLOADS = {
    "RoundInput": 1 * KIB,
    "PlannerMemory": 4 * KIB,
    "RoundResult": 8 * KIB,
    "RequestObservation": 4 * KIB,
    "RemovalObservation": 4 * KIB,
    "Act": 2 * KIB,
}
"""With 200 rounds a run and four payloads a step, histories stay far below Temporal's 10 MB with these."""
OBJECT_BYTES = 8 * KIB
"""etcd takes 1.5 MiB; an object that grows with time would get there."""
CONDITIONS = 16
"""Source: `api.meta.Conditions`."""
OFFERINGS = sum(len(each["locations"]) for each in OBJECTS[0]["spec"]["serverTypes"])
LABELS = 16
"""On a Node: the pool's, the kubelet's, the old names of these, and Growth's own."""
LIST = 12
"""Any other list or map: the pods of the largest machine."""
OLDEST_SECONDS = 3600
"""A request and a removal that nothing holds up end within the hour, their time as a record included."""
KINDS = {
    "configmaps",
    "customresourcedefinitions",
    "events",
    "kwoknodeclasses",
    "leases",
    "nodepools",
    "noderemovalrequests",
    "noderequests",
    "nodes",
    "pods",
}
EVENTS_A_DAY = 180
"""Each round that buys or begins removals tells so once on its pool."""
STANDING = range(DRAIN_ENDS - 3, DRAIN_ENDS - 1)
STANDING_EVENTS_AN_HOUR = 4
"""While nothing comes or goes, and a parked machine, a blocked drain and a pod without a place stay: told once, and
seldom again."""
LIVE_EVENTS = 100
CALM, LAST = 2 * 24 + 23, DAYS * 24 - 1
"""Two hours in the life of one worker with the same load and nothing under way, before and after the hard days."""
HELD_GROWTH = 8 * KIB
BLOCKS_GROWTH = 5000
"""The notes of story and gauges take some three thousand from one to the other. A block left by each round would make
twenty thousand, one by each sweep seven thousand."""
WEIGHED_AT = (5, 23)
PARKED_HOURS = 46
"""The machine is idle, cools off and is parked within the first two of its hours."""


@pytest.fixture(scope="module")
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_two_days_leave_nothing_behind(quiet, monkeypatch):
    lived = live(monkeypatch, days=2)
    assert lived.wrong() == []


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_week_leaves_nothing_behind_and_nothing_grows(quiet, monkeypatch):
    lived = live(monkeypatch, days=DAYS)
    # What the week is about has come to pass: a machine was parked for days, and a drain blocked for hours.
    assert lived.parked >= PARKED_HOURS
    assert lived.blocked >= DRAIN_ENDS - DRAIN_BEGINS - 1
    # A removal that is parked for days has met its bound, or this test would show nothing.
    assert lived.gauges.longest["NodeRemovalRequest.status.events"] == EVENTS_KEPT
    assert [*lived.wrong(), *growing_memory(lived.gauges)] == []


@dataclass
class Lived:
    """What was seen of so many days."""

    days: int
    gauges: Gauges
    parked: int = 0
    """Hours at whose end a removal was parked, each removal apart."""
    blocked: int = 0

    def wrong(self) -> list[str]:
        return [
            *payloads_too_long(self.gauges),
            *objects_too_large(self.gauges),
            *left_over(self.gauges),
            *too_many_events(self.gauges, self.days),
        ]


def live(monkeypatch, *, days: int) -> Lived:
    lived = Lived(days, Gauges(monkeypatch))
    rules: list[Rules] = []

    async def story(sim: Simulation) -> None:
        rules.append(judging(sim))
        lived.gauges.attach(sim)
        week = Week(sim)
        week.begin()
        for hour in range(days * 24):
            await week.pass_hour(hour)
            lived.gauges.read(hour, (await sim.look()).servers)
            if hour % 24 in WEIGHED_AT:
                lived.gauges.weigh(hour)
            lived.parked += len(week.parked())
            lived.blocked += len(week.blocked())
        await week.end()
        assert sim.oracle.judge(await sim.look(), servers=FEWEST) == []

    sim = simulate(1, story, objects=OBJECTS, most_servers=MOST_SERVERS)
    assert rules[0].violations == []
    assert 0 < len(sim.oracle.bought) <= MOST_BOUGHT_A_DAY * days
    return lived


def judging(sim: Simulation) -> Rules:
    """Return the campaign's rules, which judge every write from now on."""
    witness = Witness(sim.seconds)
    cloud = Cloud(sim.world, random=Random(1), seconds=sim.seconds, spawn=sim.spawn)
    rules = Rules(witness, cloud, tell=lambda what: sim.tell("rules", what), now=sim.now, may_leap=lambda: False)
    sim.world.cluster.observe(rules.note)
    sim.world.cluster.observe(witness.note)
    return rules


def payloads_too_long(gauges: Gauges) -> Iterator[str]:
    for kind, most in PAYLOADS.items():
        longest = gauges.payloads[kind]
        if not 0 < longest <= most:
            yield f"the longest {kind} has {longest} bytes, at most {most} are allowed"


def objects_too_large(gauges: Gauges) -> Iterator[str]:
    for kind, size in gauges.largest.items():
        if size > OBJECT_BYTES:
            yield f"the largest {kind} has {size} bytes"
    bounds = {"events": EVENTS_KEPT, "conditions": CONDITIONS, "unavailable": OFFERINGS, "labels": LABELS}
    for place, length in gauges.longest.items():
        most = bounds.get(place.rsplit(".", 1)[-1], LIST)
        if length > most:
            yield f"{place} has {length} entries, at most {most} are allowed"


def left_over(gauges: Gauges) -> Iterator[str]:
    for reading in gauges.readings:
        at = f"day {reading.hour // 24}, {reading.hour % 24} h:"
        count = reading.objects
        if reading.nodes != reading.servers:
            yield f"{at} Nodes {sorted(reading.nodes)}, servers {sorted(reading.servers)}"
        if count.get(CONFIG_MAPS.plural, 0) != len(reading.servers):
            yield f"{at} {count.get(CONFIG_MAPS.plural)} records of {len(reading.servers)} servers"
        if count.get(PODS.plural, 0) > sum(load(reading.hour).values()) + 2:
            yield f"{at} {count.get(PODS.plural)} pods"
        if set(count) - KINDS:
            yield f"{at} objects of other kinds: {count}"
        held_up = [what for what, age in reading.ages.items() if age > OLDEST_SECONDS]
        is_held_up = [what for what in held_up if not what.startswith(NODE_REMOVAL_REQUESTS.kind)]
        if is_held_up or len(held_up) > 2:
            yield f"{at} older than an hour: {held_up}"


def too_many_events(gauges: Gauges, days: int) -> Iterator[str]:
    for day in range(days):
        made = sum(one.events for one in gauges.readings if one.hour // 24 == day)
        if not 0 < made <= EVENTS_A_DAY:
            yield f"{made} events were made on day {day}"
    for one in gauges.readings:
        if one.objects.get(EVENTS.plural, 0) > LIVE_EVENTS:
            yield f"{one.objects[EVENTS.plural]} events at once in hour {one.hour}"
        if one.hour in STANDING and one.events > STANDING_EVENTS_AN_HOUR:
            yield f"{one.events} events in hour {one.hour}, in which nothing changed"


def growing_memory(gauges: Gauges) -> Iterator[str]:
    before, after = gauges.weights[CALM], gauges.weights[LAST]
    growth = sum(after.held.values()) - sum(before.held.values())
    if growth > HELD_GROWTH:
        yield f"the worker holds {growth} bytes more than days before: {(after.held - before.held).most_common(8)}"
    blocks = after.blocks - before.blocks
    if blocks > BLOCKS_GROWTH:
        yield f"the process has {blocks} memory blocks more than days before"
