"""Situations about volumes: where they can be reached, how many can be attached, what a claim lacks."""

from random import Random

from tests.e2e.situations import HOME, HOSTNAME, ZONE, Json, Situation, expression

CLAIMS = f"/api/v1/namespaces/{HOME}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
CSI_DRIVERS = "/apis/storage.k8s.io/v1/csidrivers"
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
DRIVER, OTHER_DRIVER = "csi.example.com", "other.example.com"


def _class(s: Situation, text: str, *, provisioner: str = DRIVER, wait: bool = True, **rest: object) -> str:
    name = s.value(text)
    mode = "WaitForFirstConsumer" if wait else "Immediate"
    s.others.append(
        (CLASSES, {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **rest})
    )
    return name


def _claim(
    s: Situation, text: str, class_name: str, *, size: str = "1Gi", mode: str = "ReadWriteOnce", **rest: object
) -> str:
    """Add a claim that waits for its first pod, or for ever."""
    name = s.value(text)
    spec = {"storageClassName": class_name, "accessModes": [mode], "resources": {"requests": {"storage": size}}}
    annotations = rest.pop("annotations", {})
    s.others.append((CLAIMS, {"metadata": {"name": name, "annotations": annotations}, "spec": spec | rest}))
    s.unbound_claims.add(name)
    return name


def _volume(
    s: Situation,
    text: str,
    class_name: str = "",
    *,
    terms: list[Json] | None = None,
    labels: Json | None = None,
    driver: str = DRIVER,
    size: str = "1Gi",
    mode: str = "ReadWriteOnce",
) -> str:
    name = s.value(text)
    spec: Json = {
        "storageClassName": class_name,
        "accessModes": [mode],
        "capacity": {"storage": size},
        "persistentVolumeReclaimPolicy": "Retain",
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if terms:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    s.others.append((VOLUMES, {"metadata": {"name": name, "labels": labels or {}}, "spec": spec}))
    return name


def _bound(s: Situation, text: str, *, mode: str = "ReadWriteOnce", **volume: object) -> str:
    """Add a volume and the claim that is bound to it."""
    name = _volume(s, f"{text}-volume", mode=mode, **volume)
    claim = _claim(s, text, "", mode=mode, volumeName=name)
    s.unbound_claims.discard(claim)
    return claim


def _uses(*claims: str) -> Json:
    return {
        "volumes": [{"name": f"v{n}", "persistentVolumeClaim": {"claimName": claim}} for n, claim in enumerate(claims)]
    }


def _zones(s: Situation, *zones: str | None) -> list[str]:
    return [s.node(str(n), labels={ZONE: s.value(zone) if zone else None}) for n, zone in enumerate(zones)]


def _in(key: str, *values: str) -> Json:
    return {"matchExpressions": [expression(key, "In", *values)]}


def _topology(key: str, *values: str) -> Json:
    return {"matchLabelExpressions": [{"key": key, "values": list(values)}]}


def bound_elsewhere(s: Situation, rng: Random, i: int) -> None:
    """Volumes that exist: of one zone, of one node, of several, of none, of a zone by their label."""
    nodes = _zones(s, "a", "b", None)
    a, b = s.value("a"), s.value("b")
    volumes: tuple[Json, ...] = (
        {"terms": [_in(ZONE, a)]},
        {"terms": [_in(HOSTNAME, nodes[rng.randrange(3)])]},
        {"terms": [_in(ZONE, b), _in(HOSTNAME, nodes[2])]},
        {"terms": [{"matchExpressions": [expression(ZONE, "NotIn", a)]}]},
        {"terms": [{"matchExpressions": [expression(ZONE, "Exists"), expression(HOSTNAME, "NotIn", nodes[0])]}]},
        {},
        {"labels": {ZONE: a}},
        {"labels": {ZONE: f"{a}__{b}"}},
        {"labels": {"failure-domain.beta.kubernetes.io/zone": b}},
        {"labels": {ZONE: a}, "terms": [_in(ZONE, a, b)]},
    )
    claims = [_bound(s, "one", **volumes[i % len(volumes)])]
    if i >= len(volumes):
        claims.append(_bound(s, "two", **rng.choice(volumes)))
    s.place(**_uses(*claims))


def first_consumer(s: Situation, rng: Random, i: int) -> None:
    """Claims that wait for their first pod: provisioned where the class allows it."""
    nodes = _zones(s, "a", "b", None)
    a, b = s.value("a"), s.value("b")
    allowed: tuple[list[Json], ...] = (
        [],
        [_topology(ZONE, a)],
        [_topology(ZONE, a, b)],
        [_topology(ZONE, s.value("c"))],
        [_topology(ZONE, a), _topology(HOSTNAME, nodes[2])],
        [{"matchLabelExpressions": [{"key": ZONE, "values": [a, b]}, {"key": HOSTNAME, "values": [nodes[1]]}]}],
    )
    made = _class(s, "class", allowedTopologies=allowed[i % len(allowed)])
    claims = [_claim(s, "one", made)]
    match rng.randrange(4):
        case 0:
            claims.append(_bound(s, "two", terms=[_in(ZONE, rng.choice((a, b)))]))
        case 1:
            # A volume made by hand is taken before one is provisioned.
            _volume(s, "by-hand", made, terms=[_in(ZONE, b)], size=rng.choice(("1Gi", "1Mi")))
        case 2:
            claims.append(_claim(s, "two", _class(s, "other", allowedTopologies=rng.choice(allowed))))
        case _:
            pass
    s.place(**_uses(*claims))


def local_volumes(s: Situation, rng: Random, i: int) -> None:
    """Volumes made by hand on some nodes, of a class that provisions nothing."""
    nodes = _zones(s, "a", "b", "a")
    made = _class(s, "local", provisioner="kubernetes.io/no-provisioner")
    for n, node in enumerate(nodes[: rng.randint(1, 3)]):
        size, mode = rng.choice(("1Gi", "2Gi", "100Mi")), rng.choice(("ReadWriteOnce", "ReadWriteOnce", "ReadOnlyMany"))
        labels = {"disk": rng.choice(("fast", "slow"))}
        _volume(s, f"disk-{n}", made, terms=[_in(HOSTNAME, node)], size=size, mode=mode, labels=labels)
    rest: Json = {"selector": {"matchLabels": {"disk": "fast"}}} if i % 4 == 3 else {}
    s.place(**_uses(_claim(s, "one", made, **rest)))


def local_volumes_for_two_claims(s: Situation, rng: Random, i: int) -> None:
    """Two claims of one pod that look for a volume each on the same node."""
    nodes = _zones(s, "a", "b")
    made = _class(s, "local", provisioner="kubernetes.io/no-provisioner")
    for n, node in enumerate((nodes[0], nodes[1], nodes[1])):
        size = rng.choice(("1Gi", "2Gi"))
        _volume(s, f"disk-{n}", made, terms=[_in(HOSTNAME, node)], size=size)
    s.place(**_uses(_claim(s, "one", made), _claim(s, "two", made, size=rng.choice(("1Gi", "2Gi")))))


def attach_limits(s: Situation, rng: Random, i: int) -> None:
    """Nodes with a limit of volumes of a driver, and residents that use some, perhaps the pod's own."""
    shared = _bound(s, "shared", mode="ReadWriteMany")
    taken = [_bound(s, f"taken-{n}", driver=rng.choice((DRIVER, DRIVER, OTHER_DRIVER))) for n in range(2)]
    for n in range(2):
        node = s.node(str(n))
        if rng.random() < 0.85:
            limit = rng.choice((0, 1, 1, 2, 3))
            count = {"allocatable": {"count": limit}} if rng.random() < 0.9 else {}
            driver = {"name": DRIVER, "nodeID": node, "topologyKeys": [], **count}
            s.others.append((CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}}))
        s.resident(node, terminating=rng.random() < 0.1, **_uses(*rng.sample([shared, taken[n]], rng.randint(1, 2))))
    wanted = [shared] if rng.random() < 0.5 else []
    if i % 2:
        wanted.append(_bound(s, "own", driver=rng.choice((DRIVER, DRIVER, OTHER_DRIVER))))
    else:
        wanted.append(_claim(s, "own", _class(s, "class")))
    s.place(**_uses(*wanted))


def attach_cases(s: Situation, rng: Random, i: int) -> None:
    """One node with one volume attached: its limit, and whether the pod brings a volume of its own."""
    limit, brings_own = ((1, True), (2, True), (1, False), (0, False))[i]
    node = s.node("only")
    driver = {"name": DRIVER, "nodeID": node, "topologyKeys": [], "allocatable": {"count": limit}}
    s.others.append((CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [driver]}}))
    shared = _bound(s, "shared", mode="ReadWriteMany")
    s.resident(node, **_uses(shared))
    s.place(**_uses(_bound(s, "own") if brings_own else shared))


def claims_in_trouble(s: Situation, rng: Random, i: int) -> None:
    """Claims that are missing, unbound, in use, on their way out, or promised to a node."""
    nodes = _zones(s, "a", "b")
    match i % 10:
        case 0:
            claim = s.value("missing")
        case 1:
            claim = _claim(s, "claim", _class(s, "class", wait=False))
        case 2:
            claim = _claim(s, "claim", s.value("no-such-class"))
        case 3:
            claim = _bound(s, "claim", mode="ReadWriteOncePod")
            s.resident(nodes[0], **_uses(claim))
        case 4:
            claim = _bound(s, "claim", mode="ReadWriteOncePod")
            s.resident(nodes[0], terminating=True, **_uses(claim))
        case 5:
            claim = _bound(s, "claim", mode="ReadWriteOncePod")
        case 6:
            claim = _bound(s, "claim")
            s.resident(nodes[0], **_uses(claim))
        case 7:
            claim = _bound(s, "claim", mode="ReadWriteMany")
            s.resident(nodes[0], **_uses(claim))
            s.deleted.append(f"{CLAIMS}/{claim}")
        case 8:
            made = _class(s, "class")
            claim = _claim(s, "claim", made, annotations={"volume.kubernetes.io/selected-node": nodes[1]})
        case _:
            claim = _claim(s, "claim", "", volumeName=s.value("no-such-volume"))
    s.place(**_uses(claim))


def ephemeral_volumes(s: Situation, rng: Random, i: int) -> None:
    """A claim that lives with its pod, made from the pod's own template."""
    _zones(s, "a", "b")
    zone = [_topology(ZONE, s.value("a"))]
    made = _class(s, "class", wait=i % 3 != 2, **({"allowedTopologies": zone} if i % 2 else {}))
    spec = {"storageClassName": made, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    s.unbound_claims.add(f"{s.value('pod')}-scratch")
    s.has_own_claims = True
    s.place(volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}])


def volumes_not_judged(s: Situation, rng: Random, i: int) -> None:
    """What only objects tell that the planner does not read: each of these is a difference."""
    node = s.node("only")
    match i:
        case 0:
            s.place(volumes=[{"name": "disk", "gcePersistentDisk": {"pdName": s.value("disk")}}])
        case 1:
            limited = {"name": DRIVER, "nodeID": node, "topologyKeys": [], "allocatable": {"count": 1}}
            s.others.append((CSI_NODES, {"metadata": {"name": node}, "spec": {"drivers": [limited]}}))
            left = {"persistentVolumeName": _volume(s, "left")}
            spec = {"attacher": DRIVER, "nodeName": node, "source": left}
            s.others.append((ATTACHMENTS, {"metadata": {"name": s.value("left")}, "spec": spec}))
            s.place(**_uses(_bound(s, "new")))
        case _:
            driver = s.value("full.example.com")
            s.others.append((CSI_DRIVERS, {"metadata": {"name": driver}, "spec": {"storageCapacity": True}}))
            s.place(**_uses(_claim(s, "new", _class(s, "class", provisioner=driver))))
