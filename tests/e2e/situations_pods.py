"""Situations about other pods: affinity and anti-affinity in both directions."""

from random import Random

from tests.e2e.situations import BLUE, GREEN, HOME, HOSTNAME, ZONE, Json, Situation, expression

SPACES: tuple[Json, ...] = (
    {},
    {},
    {},
    {"namespaces": [BLUE]},
    {"namespaces": [HOME, GREEN]},
    {"namespaceSelector": {}},
    {"namespaceSelector": {"matchLabels": {"team": "blue"}}},
    {"namespaceSelector": {"matchExpressions": [expression("team", "In", "blue", "red")]}},
    {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": BLUE}}},
    {"namespaces": [HOME], "namespaceSelector": {"matchLabels": {"team": "green"}}},
)


def own_keys(s: Situation) -> tuple[str, str]:
    """Return two topology keys that no other situation has."""
    return s.key("rack"), s.key("row")


def _nodes(s: Situation, count: int, *, lacking: float = 0.15) -> list[str]:
    """Add nodes in two or three domains of each key; some lack a key."""
    rng, (rack, row) = s.rng, own_keys(s)
    names: list[str] = []
    for n in range(count):
        labels: Json = {
            rack: rng.choice(("1", "2", "3")),
            row: rng.choice(("1", "2")),
            ZONE: s.value(rng.choice("ab")),
        }
        if rng.random() < lacking:
            labels[rng.choice((rack, row, ZONE, HOSTNAME))] = None
        names.append(s.node(str(n), labels=labels))
    return names


def drawn_labels(s: Situation) -> Json:
    """Return labels of a pod."""
    drawn = {"app": s.value(s.rng.choice("ab"))}
    if s.rng.random() < 0.6:
        drawn["version"] = s.rng.choice(("1", "2"))
    return drawn


def drawn_selector(s: Situation, *, own_key: bool) -> Json:
    """Return a selector; one that pods of other situations could match only where the topology key is our own."""
    a, b = s.value("a"), s.value("b")
    narrow: tuple[Json, ...] = (
        {"labelSelector": {"matchLabels": {"app": a}}},
        {"labelSelector": {"matchLabels": {"app": b}}},
        {"labelSelector": {"matchExpressions": [expression("app", "In", a, b)]}},
        {"labelSelector": {"matchLabels": {"app": a, "version": "1"}}},
        {
            "labelSelector": {
                "matchLabels": {"app": a},
                "matchExpressions": [expression("version", "NotIn", "1")],
            }
        },
        {"labelSelector": {"matchLabels": {"app": b}, "matchExpressions": [expression("version", "Exists")]}},
    )
    wide: tuple[Json, ...] = (
        {"labelSelector": {}},
        {},
        {"labelSelector": {"matchExpressions": [expression("app", "NotIn", a)]}},
        {"labelSelector": {"matchExpressions": [expression("version", "DoesNotExist")]}},
    )
    return s.rng.choice((*narrow, *narrow, *wide) if own_key else narrow)


def _term(s: Situation) -> Json:
    rng = s.rng
    key = rng.choice((*own_keys(s), *own_keys(s), ZONE, HOSTNAME))
    term = {"topologyKey": key} | drawn_selector(s, own_key=key in own_keys(s)) | rng.choice(SPACES)
    if rng.random() < 0.3 and may_name_keys(term):
        term[rng.choice(("matchLabelKeys", "mismatchLabelKeys"))] = [rng.choice(("version", "absent"))]
    return term


def may_name_keys(part: Json) -> bool:
    """Return whether matchLabelKeys may stand beside the selector: it is there, and names no label of that key."""
    return "labelSelector" in part and "version" not in str(part["labelSelector"])


def _required(terms: list[Json]) -> Json:
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms} if terms else {}


def _residents(s: Situation, nodes: list[str], count: int, *, keep_apart: float) -> None:
    for _ in range(count):
        away = [_term(s)] if s.rng.random() < keep_apart else []
        s.resident(
            s.rng.choice(nodes),
            labels=drawn_labels(s),
            namespace=s.rng.choice((HOME, HOME, HOME, BLUE, GREEN)),
            terminating=s.rng.random() < 0.15,
            affinity={"podAntiAffinity": _required(away)},
        )


def affinity(s: Situation, rng: Random, i: int) -> None:
    """A pod that wants to be near others: one term or two, and sometimes nobody is there yet."""
    nodes = _nodes(s, rng.randint(2, 3))
    _residents(s, nodes, rng.choice((0, 1, 2, 3)), keep_apart=0.1)
    terms = [_term(s) for _ in range(1 + i % 2)]
    s.place(labels=drawn_labels(s), affinity={"podAffinity": _required(terms)})


def first_of_group(s: Situation, rng: Random, i: int) -> None:
    """A pod that wants to be near its like, of which there are none, or only where they do not count."""
    nodes = _nodes(s, rng.randint(2, 3), lacking=0.6)
    labels = drawn_labels(s)
    if i % 2:
        where = rng.choice((HOME, BLUE))
        s.resident(rng.choice(nodes), labels=drawn_labels(s), namespace=where, terminating=rng.random() < 0.3)
    keys = (*own_keys(s), ZONE, HOSTNAME)
    like = {"labelSelector": {"matchLabels": {"app": labels["app"]}}}
    terms = [like | {"topologyKey": key} for key in rng.sample(keys, 1 if i % 3 else 2)]
    s.place(labels=labels, affinity={"podAffinity": _required(terms)})


def anti_affinity(s: Situation, rng: Random, i: int) -> None:
    """A pod that keeps away from others, as others may keep away from it."""
    nodes = _nodes(s, rng.randint(2, 3))
    _residents(s, nodes, rng.choice((1, 2, 3)), keep_apart=0.3)
    terms = [_term(s) for _ in range(1 + i % 2)]
    s.place(labels=drawn_labels(s), affinity={"podAntiAffinity": _required(terms)})


def kept_away_from(s: Situation, rng: Random, i: int) -> None:
    """A pod without a wish, and pods that keep away from it or seem to."""
    nodes = _nodes(s, rng.randint(2, 3))
    _residents(s, nodes, rng.choice((1, 2, 3)), keep_apart=1)
    s.place(labels=drawn_labels(s), namespace=rng.choice((HOME, HOME, BLUE, GREEN)))


def near_and_apart(s: Situation, rng: Random, i: int) -> None:
    """Both wishes at once."""
    nodes = _nodes(s, 3)
    _residents(s, nodes, rng.choice((2, 3)), keep_apart=0.2)
    s.place(
        labels=drawn_labels(s),
        affinity={"podAffinity": _required([_term(s)]), "podAntiAffinity": _required([_term(s)])},
    )


def namespaces_without_a_label(s: Situation, rng: Random, i: int) -> None:
    """A term for namespaces without a label, and a pod that it names but for its namespace, which has the label."""
    rack = s.key("rack")
    nodes = [s.node(str(n), labels={rack: str(n)}) for n in range(2)]
    s.resident(nodes[0], labels={"app": s.value("a")}, namespace=GREEN)
    term = {
        "topologyKey": rack,
        "labelSelector": {"matchLabels": {"app": s.value("a")}},
        "namespaceSelector": {"matchExpressions": [expression("team", "DoesNotExist")]},
    }
    s.place(affinity={("podAffinity", "podAntiAffinity")[i]: _required([term])})
    s.steer(nodes[0])


def gates(s: Situation, rng: Random, i: int) -> None:
    """A pod that waits for somebody to lift a gate, though a node is free."""
    s.node("free")
    s.place(schedulingGates=[{"name": "example.com/quota"}])
