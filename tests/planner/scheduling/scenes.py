"""Sites and pods for tests of the judge, built by hand."""

from planner.objects.kinds import Pod, PodTerm, Requirement
from planner.scheduling.feasibility import Judge
from planner.scheduling.site import Site

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
AMPLE = {"cpu": 8000, "memory": 16 << 30, "pods": 30}


def pod(name="new", **fields):
    return Pod(
        namespace=fields.pop("namespace", "default"),
        name=name,
        uid=name,
        requests=fields.pop("requests", {"pods": 1}),
        **fields,
    )


def site(name="n", *pods, zone=None, labels=None, **fields):
    known = {HOSTNAME: name} | ({ZONE: zone} if zone else {}) | (labels or {})
    return Site(name=name, allocatable=fields.pop("allocatable", AMPLE), labels=known, pods=pods, **fields)


APP_A = (Requirement("app", "In", ("a",)),)


def term(key=ZONE, selector=APP_A, namespaces=("default",), namespace_selector=None):
    return PodTerm(key, selector, frozenset(namespaces), namespace_selector)


def verdicts(one, *sites, namespaces=None):
    return dict(Judge(sites, namespaces or {}).verdicts(one))


def fitting(one, *sites, namespaces=None):
    """Return the names of the sites where the pod fits."""
    return {name for name, why in verdicts(one, *sites, namespaces=namespaces).items() if why is None}
