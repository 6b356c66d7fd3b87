"""What pods of charts ask of other pods, drawn by how often charts ask it."""

import random
from collections.abc import Callable
from typing import Final

from tests.builders import Json
from tests.planner.reading import REQUIRED
from tests.planner.wishes import HOST, ZONE, spread, term

Draw = random.Random
TYPE: Final = "node.kubernetes.io/instance-type"


def asked_of_others(draw: Draw, app: str, others: list[str], *, with_racks: bool) -> Json:
    """Return parts of a pod's spec, and its ports under `ports`: one constraint, sometimes none or two."""
    spec: Json = {}
    for _ in range(draw.choices((0, 1, 2), weights=(5, 80, 15))[0]):
        kind = draw.choices([one for one, _ in _KINDS], weights=[weight for _, weight in _KINDS])[0]
        _merge(spec, kind(draw, app, draw.choice(others), with_racks))
    return spec


def _merge(spec: Json, more: Json) -> None:
    for key, value in more.items():
        if key == "affinity":
            for kind, terms in value.items():
                own = spec.setdefault("affinity", {}).setdefault(kind, {REQUIRED: []})
                own[REQUIRED] += [one for one in terms[REQUIRED] if one not in own[REQUIRED]]
        elif key == "topologySpreadConstraints":
            own = spec.setdefault(key, [])
            keys = {one["topologyKey"] for one in own}
            own += [one for one in value if one["topologyKey"] not in keys]
        else:
            spec[key] = value


def _spread(draw: Draw, key: str, app: str) -> Json:
    few = {"minDomains": draw.choice((2, 3))} if draw.random() < 0.1 else {}
    return spread(key, draw.choice((1, 1, 1, 2)), app, **few)


def _over_hosts(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001 - one form for all
    return {"topologySpreadConstraints": [_spread(draw, HOST, app)]}


def _over_zones(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
    return {"topologySpreadConstraints": [_spread(draw, ZONE, app)]}


def _over_both(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
    return {"topologySpreadConstraints": [_spread(draw, ZONE, app), _spread(draw, HOST, app)]}


def _over_more(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
    return {"topologySpreadConstraints": [_spread(draw, "rack" if with_racks else TYPE, app)]}


def _spread_from(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
    return {"topologySpreadConstraints": [_spread(draw, draw.choice((ZONE, HOST)), other)]}


def _affine(kind: str, key: str, *, own: bool) -> Callable[[Draw, str, str, bool], Json]:
    def made(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
        return {"affinity": {kind: {REQUIRED: [term(key, {"app": app if own else other})]}}}

    return made


def _port(draw: Draw, app: str, other: str, with_racks: bool) -> Json:  # noqa: FBT001
    number = draw.choice((80, 80, 9100))
    return {"ports": [{"containerPort": number, "hostPort": number}]}


_KINDS: Final = (
    (_over_hosts, 22),
    (_over_zones, 22),
    (_over_both, 14),
    (_affine("podAntiAffinity", HOST, own=True), 14),
    (_affine("podAntiAffinity", ZONE, own=True), 5),
    (_affine("podAntiAffinity", HOST, own=False), 3),
    (_affine("podAntiAffinity", ZONE, own=False), 2),
    (_over_more, 4),
    (_spread_from, 1),
    (_affine("podAffinity", ZONE, own=True), 4),
    (_affine("podAffinity", HOST, own=True), 2),
    (_affine("podAffinity", ZONE, own=False), 2),
    (_affine("podAffinity", HOST, own=False), 2),
    (_port, 4),
)
"""With their weights: most charts spread over hosts or zones, or keep replicas apart."""
