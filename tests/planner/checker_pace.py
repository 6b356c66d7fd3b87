"""The checker's own rules on how fast a pool buys: written anew from the fields, not from the planner."""

from collections import Counter

from api.duration import parse_duration
from tests.planner.reading import moment

COMING = ("Pending", "Provisioning")


def violations(checker):
    """Yield the pools that buy faster than they may."""
    bought = Counter(r.pool for r in checker.plan.requests)
    for name, pool in checker.pools.items():
        wish = pool["spec"].get("scaleUp", {})
        batch, most = wish.get("batchMax", 0), wish.get("maxInFlight", 0)
        if batch and bought[name] > batch:
            yield f"pool {name} buys {bought[name]} machines at once, batchMax is {batch}"
        if most and bought[name] and bought[name] + in_flight(checker, name) > most:
            yield f"pool {name} buys {bought[name]} machines beside those that are coming, maxInFlight is {most}"
        if bought[name] and rests(checker, name):
            yield f"pool {name} buys {bought[name]} machines although it rests after a purchase"


def in_flight(checker, pool):
    """Return the number of machines of the pool that are asked for and not Ready."""
    return sum(
        r["spec"]["pool"] == pool
        and r["status"].get("phase", "Pending") in COMING
        and "deletionTimestamp" not in r["metadata"]
        for r in checker.scene.requests
    )


def rests(checker, pool):
    """Return whether a purchase of the pool was too short ago for another one."""
    wish, now = checker.pools[pool]["spec"].get("scaleUp", {}), checker.scene.now
    stamps = [
        moment(r["metadata"]["creationTimestamp"])
        for r in checker.scene.requests
        if r["spec"]["pool"] == pool and "creationTimestamp" in r["metadata"] and r["metadata"].get("ownerReferences")
    ]
    waits = [parse_duration(wish.get("cooldown", "0s"))]
    if "lock" in wish:
        waits.append(parse_duration(wish["lock"].get("min", "2m")))
    return bool(stamps) and now < max(stamps) + max(waits)


def holds_back(checker, pod, pool):
    """Return whether the pool buys nothing for this pod in this round, by its own fields."""
    wish = checker.pools[pool]["spec"].get("scaleUp", {})
    bought = sum(r.pool == pool for r in checker.plan.requests)
    born = pod["metadata"].get("creationTimestamp")
    grace = parse_duration(wish.get("podGrace", "0s"))
    batch, most = wish.get("batchMax", 0), wish.get("maxInFlight", 0)
    return (
        ("binPack" not in wish.get("estimators", ["binPack"]) and not wish.get("starvation"))
        or (born is not None and checker.scene.now < moment(born) + grace)
        or (batch and bought >= batch)
        or (most and bought + in_flight(checker, pool) >= most)
        # How long these hold back is for tests of their own.
        or bool({"lock", "breaker", "cooldown"} & wish.keys())
    )
