"""Situations about spread over domains."""

from random import Random
from typing import Any

from tests.e2e.situations import BLUE, HOME, HOSTNAME, ZONE, Json, Situation, expression
from tests.e2e.situations_pods import drawn_labels, drawn_selector, may_name_keys, own_keys

UNWANTED = {"nodeSelectorTerms": [{"matchExpressions": [expression("kind", "NotIn", "spare")]}]}
SPARE = {"labels": {"kind": "spare"}}
FULL = {"taints": ({"key": "full", "effect": "NoSchedule"},)}

# How many pods are on the first node and on the second, of different racks; then what differs from the plain case.
# The pod prefers the first.
CASES: tuple[tuple[int, int, Json], ...] = (
    (1, 0, {}),
    (1, 1, {}),
    (1, 0, {"constraint": {"maxSkew": 2}}),
    (2, 0, {"constraint": {"maxSkew": 2}}),
    (1, 1, {"constraint": {"minDomains": 2}}),
    (1, 1, {"constraint": {"minDomains": 3}}),
    (0, 0, {"constraint": {"minDomains": 3}}),
    (3, 0, {"constraint": {"labelSelector": {}}}),
    (3, 0, {"constraint": {"labelSelector": None}}),
    (1, 0, {"second_node": SPARE}),
    (1, 0, {"second_node": SPARE, "constraint": {"nodeAffinityPolicy": "Honor"}}),
    (1, 0, {"second_node": SPARE, "constraint": {"nodeAffinityPolicy": "Ignore"}}),
    (1, 0, {"second_node": FULL}),
    (1, 0, {"second_node": FULL, "constraint": {"nodeTaintsPolicy": "Ignore"}}),
    (1, 0, {"second_node": FULL, "constraint": {"nodeTaintsPolicy": "Honor"}}),
    (1, 0, {"resident": {"terminating": True}}),
    (1, 0, {"resident": {"namespace": BLUE}}),
    (1, 0, {"app": "b"}),
    (1, 0, {"version": "1", "constraint": {"matchLabelKeys": ["version"]}}),
    (1, 0, {"version": "2", "constraint": {"matchLabelKeys": ["version"]}}),
    (1, 0, {"constraint": {"matchLabelKeys": ["absent"]}}),
    (1, 0, {"has_row": True}),
)


def spread_cases(s: Situation, rng: Random, i: int) -> None:
    """Two racks and one awkward detail."""
    on_first, on_second, case = CASES[i]
    rack, row = own_keys(s)
    second: dict[str, Any] = case.get("second_node", {})
    first_node = s.node("first", labels={rack: "1", row: "1"})
    # A second constraint leaves out the second node, which lacks its key.
    second_node = s.node("second", **(second | {"labels": {rack: "2"} | second.get("labels", {})}))
    labels = {"app": s.value("a"), "version": "1"}
    for node in [first_node] * on_first + [second_node] * on_second:
        s.resident(node, labels=labels, **case.get("resident", {}))
    plain = {"topologyKey": rack, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    plain |= {"labelSelector": {"matchLabels": {"app": s.value("a")}}} | case.get("constraint", {})
    others = [plain | {"topologyKey": row}] if "has_row" in case else []
    s.place(
        labels={"app": s.value(case.get("app", "a")), "version": case.get("version", "1")},
        topologySpreadConstraints=[plain, *others],
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": UNWANTED}},
    )
    s.steer(first_node)


def _constraint(s: Situation, app: str, *, is_tight: bool) -> Json:
    """Return a constraint; a tight one allows a skew of one among pods of the app."""
    rng = s.rng
    # Domains of a key that all nodes have would reach into other situations where node affinity is ignored.
    key = rng.choice((*own_keys(s), *own_keys(s), ZONE, HOSTNAME))
    hard = is_tight or rng.random() < 0.85
    made: Json = {
        "topologyKey": key,
        "maxSkew": 1 if is_tight else rng.choice((1, 2, 3)),
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
    }
    made |= {"labelSelector": {"matchLabels": {"app": app}}} if is_tight else drawn_selector(s, own_key=True)
    if not hard:
        s.can_be_steered = False
    elif rng.random() < 0.35:
        made["minDomains"] = rng.choice((1, 2, 3, 4))
    if rng.random() < 0.3 and may_name_keys(made):
        made["matchLabelKeys"] = [rng.choice(("version", "absent"))]
    if rng.random() < 0.7:
        made["nodeTaintsPolicy"] = rng.choice(("Honor", "Ignore"))
    if key in own_keys(s) and rng.random() < 0.6:
        made["nodeAffinityPolicy"] = rng.choice(("Honor", "Ignore", "Ignore"))
    return made


def spread(s: Situation, rng: Random, i: int) -> None:
    """One constraint or two over nodes of which some are tainted, unwanted or without a key."""
    rack, row = own_keys(s)
    is_tight = i % 3 != 2
    nodes: list[str] = []
    for n in range(rng.randint(3, 4)):
        labels: Json = {rack: str(n % 3), row: rng.choice(("1", "2")), ZONE: s.value("ab"[n % 2])}
        labels["kind"] = "spare" if rng.random() < 0.3 else None
        if rng.random() < 0.12:
            labels[rng.choice((rack, row, ZONE))] = None
        tainted = ({"key": "full", "effect": "NoSchedule"},) if rng.random() < 0.3 else ()
        nodes.append(s.node(str(n), labels=labels, taints=tainted))
    app = s.value("a")
    # Few pods on few of the nodes, so that some domains are empty.
    crowded = rng.sample(nodes, 2)
    for _ in range(rng.randint(1, 3)):
        s.resident(
            rng.choice(crowded),
            labels=drawn_labels(s) | ({"app": app} if is_tight else {}),
            namespace=rng.choice((HOME, HOME, HOME, HOME, BLUE)),
            terminating=rng.random() < 0.15,
        )
    drawn = [_constraint(s, app, is_tight=is_tight) for _ in range(1 + i % 2)]
    constraints = {(c["topologyKey"], c["whenUnsatisfiable"]): c for c in drawn}
    if i % 9 == 8:
        drawn[0]["labelSelector"] = {}
        drawn[0].pop("matchLabelKeys", None)
    rest: Json = {}
    if rng.random() < 0.25:
        rest["tolerations"] = [{"key": "full", "operator": "Exists"}]
    if rng.random() < 0.6:
        rest["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": UNWANTED}}
    own = drawn_labels(s) | ({"app": app} if is_tight and rng.random() < 0.8 else {})
    s.place(labels=own, topologySpreadConstraints=list(constraints.values()), **rest)


def spread_and_apart(s: Situation, rng: Random, i: int) -> None:
    """A spread over zones together with keeping away from the same pods on each node, as many charts have it."""
    spread(s, rng, i)
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": s.pod["metadata"]["labels"]["app"]}}}
    s.pod["spec"].setdefault("affinity", {})["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term]
    }
