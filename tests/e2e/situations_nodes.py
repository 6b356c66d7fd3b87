"""Situations about a node by itself: node affinity, taints, host ports."""

from random import Random

from tests.e2e.situations import Json, Situation, container, expression

TIERS = (None, "a", "b", "c")
SIZES = (None, "5", "10", "010", "words", "99999999999999999999")
TERMS: tuple[Json, ...] = (
    expression("tier", "In", "a"),
    expression("tier", "In", "a", "b"),
    expression("tier", "NotIn", "a"),
    expression("tier", "NotIn", "a", "b"),
    expression("tier", "Exists"),
    expression("tier", "DoesNotExist"),
    expression("size", "Gt", "5"),
    expression("size", "Gt", "0"),
    expression("size", "Lt", "10"),
    expression("size", "Lt", "11"),
    expression("size", "Exists"),
)


def node_affinity(s: Situation, rng: Random, i: int) -> None:
    """Three nodes of different labels, and one to three terms of one or two requirements."""
    names = [s.node(str(n), labels={"tier": rng.choice(TIERS), "size": rng.choice(SIZES)}) for n in range(3)]
    terms: list[Json] = []
    for n in range(1 if i < len(TERMS) else rng.randint(1, 3)):
        first = TERMS[i] if i < len(TERMS) and n == 0 else rng.choice(TERMS)
        term: Json = {"matchExpressions": [first, *rng.sample(TERMS, rng.randint(0, 1))]}
        if i >= len(TERMS) and rng.random() < 0.5:
            fields = expression("metadata.name", rng.choice(("In", "NotIn")), rng.choice(names))
            term = {"matchFields": [fields]} | (term if rng.random() < 0.5 else {})
        terms.append(term)
    if i % 7 == 6:
        terms.append({})
    selector = {"nodeSelector": {"tier": rng.choice(("a", "b"))}} if rng.random() < 0.2 else {}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    s.place(affinity={"nodeAffinity": required}, **selector)


EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
CORDON = "node.kubernetes.io/unschedulable"


def taints(s: Situation, rng: Random, i: int) -> None:
    """Two nodes with up to two taints each, perhaps cordoned, and up to three tolerations."""
    keys = (s.key("one"), s.key("two"))
    for n in range(2):
        drawn = [
            {"key": key, "value": rng.choice(("", "x", "y")), "effect": rng.choice(EFFECTS)}
            for key in rng.sample(keys, rng.choice((0, 1, 1, 2)))
        ]
        if any(taint["effect"] == "PreferNoSchedule" for taint in drawn):
            s.can_be_steered = False
        s.node(str(n), taints=tuple(drawn), cordoned=rng.random() < 0.25)
    tolerations: list[Json] = []
    for _ in range(rng.choice((0, 1, 2, 3))):
        key = rng.choice((*keys, *keys, CORDON, ""))
        exists = not key or rng.random() < 0.5
        toleration = {"operator": "Exists"} if exists else rng.choice(({"operator": "Equal"}, {}))
        toleration = toleration | ({"key": key} if key else {})
        if not exists and (value := rng.choice(("", "x", "y"))):
            toleration["value"] = value
        if effect := rng.choice(("", *EFFECTS)):
            toleration["effect"] = effect
        tolerations.append(toleration)
    s.place(tolerations=tolerations)


ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")
PROTOCOLS = ("TCP", "TCP", "TCP", "UDP", "SCTP")


def _ports(rng: Random, count: int) -> tuple[Json, ...]:
    drawn: dict[tuple[str, int, str], Json] = {}
    for _ in range(count):
        port, protocol, address = rng.choice((8080, 8080, 8081)), rng.choice(PROTOCOLS), rng.choice(ADDRESSES)
        made = {"containerPort": port, "hostPort": port, "protocol": protocol}
        drawn[protocol, port, address] = made | ({"hostIP": address} if address else {})
    return tuple(drawn.values())


def _with_ports(rng: Random, where: str) -> Json:
    ports = _ports(rng, rng.randint(1, 2))
    match where:
        case "sidecar":
            return {"initContainers": [container("s", always=True, ports=ports)]}
        case "init":
            return {"initContainers": [container("i", ports=ports)]}
        case "network":
            bare = tuple({k: v for k, v in port.items() if k not in ("hostPort", "hostIP")} for port in ports[:1])
            return {"hostNetwork": True, "containers": [container(cpu="10m", ports=bare)]}
        case _:
            return {"containers": [container(cpu="10m", ports=ports)]}


def host_ports(s: Situation, rng: Random, i: int) -> None:
    """Two nodes whose pods take ports, and a pod that wants some, in containers of every kind."""
    places = ("main", "main", "main", "sidecar", "init", "network")
    for n in range(2):
        node = s.node(str(n))
        for _ in range(rng.randint(1, 3)):
            s.resident(node, **_with_ports(rng, rng.choice(places)))
    s.place(**_with_ports(rng, places[i % len(places)]))


def port_addresses(s: Situation, rng: Random, i: int) -> None:
    """Every pair of addresses on the same port."""
    node = s.node("only")
    taken, wanted = ADDRESSES[i // len(ADDRESSES)], ADDRESSES[i % len(ADDRESSES)]
    port = {"containerPort": 8080, "hostPort": 8080}
    s.resident(node, containers=[container(ports=({**port, "hostIP": taken},))])
    s.place(containers=[container(ports=({**port, "hostIP": wanted},))])
