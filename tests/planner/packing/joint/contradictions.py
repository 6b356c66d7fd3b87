"""Rounds that ask for what cannot be: left out of the comparison, each by a rule with a name."""

from collections.abc import Callable
from typing import Final

from tests.planner.reading import Json, is_demand
from tests.planner.scenes import Scene
from tests.planner.selecting import labels_of, reaches, selects, spreads, terms


def _together_and_spread(pod: Json) -> bool:
    """Return whether it must be beside its own kind in a domain, and evenly spread with it over the same domains."""
    return any(
        near["topologyKey"] == spread["topologyKey"]
        and reaches(near, pod, pod, {})
        and selects(spread.get("labelSelector"), labels_of(pod))
        for near in terms(pod, "podAffinity")
        for spread in spreads(pod)
    )


def _together_and_apart(pod: Json) -> bool:
    """Return whether it must be beside pods of some labels and away from them, by the same topology key."""
    return any(
        (near["topologyKey"], near["labelSelector"]) == (away["topologyKey"], away["labelSelector"])
        for near in terms(pod, "podAffinity")
        for away in terms(pod, "podAntiAffinity")
    )


RULES: Final[dict[str, Callable[[Json], bool]]] = {
    "together and spread over one key": _together_and_spread,
    "together and apart by one key": _together_and_apart,
}


def contradictions(scene: Scene) -> list[str]:
    """Return the names of the rules that a waiting pod of the scene falls under."""
    return [name for name, rule in RULES.items() if any(rule(pod) for pod in scene.pods if is_demand(pod))]
