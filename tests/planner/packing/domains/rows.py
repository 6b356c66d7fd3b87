"""Scenes in three zones, and short ways to write constraints."""

from typing import Any

from planner.model.plan import Plan
from planner.plan import plan
from tests.builders import Json, node, pod, server_type
from tests.planner import scenes, wishes
from tests.planner.checker import violations
from tests.planner.packing.domains.landing import not_landed
from tests.planner.reading import REQUIRED
from tests.planner.scenes import Scene
from tests.planner.wishes import ZONE

ZONES = ("fsn1", "hel1", "nbg1")


def scene(
    *pods: Json, types: tuple[str, ...] = ("cx22", "cx32"), zones: tuple[str, ...] = ZONES, **parts: Any
) -> Scene:
    kinds = [server_type(kind, locations=zones) for kind in types]
    return scenes.scene(*pods, types=types, kinds=kinds, **parts)


def at(name: str, zone: str, kind: str = "cx22", **changes: Any) -> Json:
    labels = {ZONE: zone, "topology.kubernetes.io/region": zone} | changes.pop("labels", {})
    return node(name, kind, labels=labels, **changes)


def several(number: int, cpu: str = "500m", app: str = "web", name: str = "", **spec: Any) -> list[Json]:
    first = name or app
    return [pod(f"{first}-{k}", cpu, "256Mi", labels={"app": app}, owner=f"rs-{first}", **spec) for k in range(number)]


def spread(key: str = ZONE, skew: int = 1, app: str = "web", **more: Any) -> Json:
    return wishes.spread(key, skew, app, **more)


def term(key: str, app: str, **more: Any) -> Json:
    return wishes.term(key, {"app": app}, **more)


def near(*terms: Json) -> Json:
    return {"podAffinity": {REQUIRED: list(terms)}}


def away(*terms: Json) -> Json:
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def planned(given: Scene) -> Plan:
    """Return the plan, after both judges of plans have found nothing against it."""
    made = plan(given.snapshot())
    assert not_landed(given, made) == []
    assert violations(given, made) == []
    assert made.lower_bound_per_hour <= made.cost_per_hour
    return made


def by_zone(made: Plan) -> dict[str, int]:
    """Return pods on machines to buy by zone."""
    found: dict[str, int] = {}
    for bought in made.requests:
        found[bought.location] = found.get(bought.location, 0) + len(bought.seats)
    return dict(sorted(found.items()))


def places(made: Plan) -> dict[str, str | None]:
    return {p.pod.removeprefix("default/"): p.node or p.request for p in made.placed}


def codes(made: Plan) -> dict[str, str]:
    return {u.pod.removeprefix("default/"): u.reasons[0].code for u in made.unplaced}
