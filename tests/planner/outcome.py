"""What comes out of a round, in few words; every plan is judged by the checker as well."""

from collections import Counter

from planner.model.plan import Plan
from planner.plan import plan
from tests.planner.checker import Checker, violations
from tests.planner.scenes import Scene
from tests.planner.wishes import ZONE


def planned(given: Scene) -> Plan:
    """Return the plan of a scene, which breaks no rule."""
    made = plan(given.snapshot())
    assert violations(given, made) == []
    return made


def types(made: Plan) -> list[str]:
    """Return the server types that are bought."""
    return sorted(r.server_type for r in made.requests)


def codes(made: Plan) -> dict[str, str]:
    """Return the first reason of each pod without a place."""
    return {u.pod.partition("/")[2]: u.reasons[0].code for u in made.unplaced}


def landed(given: Scene, made: Plan, topology: str = ZONE, app: str = "web") -> Counter[str]:
    """Return how many pods of an app each domain has in the end, domains without any among them."""
    found: Counter[str] = Counter()
    for spot in Checker(given, made).world().spots:
        pods = [p for p in (*spot.residents, *spot.newcomers) if p["metadata"]["labels"].get("app") == app]
        found[spot.labels[topology]] += len(pods)
    return found


def together(made: Plan) -> list[int]:
    """Return how many pods each bought machine gets, the fewest first."""
    return sorted(len(r.seats) for r in made.requests)
