"""Pods and the LimitRanges of their namespace, with what kube-apiserver makes of them: `make e2e` asks it."""

from dataclasses import dataclass, field
from typing import Any, Final

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A pod without anything but resources."""

    items: list[list[Json]]
    """`spec.limits` of each LimitRange, without the type Container."""
    containers: list[Json]
    """Resources of each."""
    init: list[Json] = field(default_factory=list)
    """The same of init containers; `sidecar` marks one that runs on."""
    whole: Json | None = None
    """Resources of the pod as a whole."""
    millicores: int | None = None
    """What it asks for; None if it is refused."""
    refused_for: str = ""
    """Part of the API server's message."""

    def ranges(self) -> list[Json]:
        """Return the specs of the LimitRanges."""
        return [{"limits": [{"type": "Container", **item} for item in items]} for items in self.items]

    def spec(self) -> Json:
        """Return the spec of the pod."""
        containers = [{"name": f"c{i}", "image": "x", "resources": each} for i, each in enumerate(self.containers)]
        init = [
            {
                "name": f"i{i}",
                "image": "x",
                "resources": {key: value for key, value in each.items() if key != "sidecar"},
                **({"restartPolicy": "Always"} if "sidecar" in each else {}),
            }
            for i, each in enumerate(self.init)
        ]
        return {"containers": containers, "initContainers": init} | (
            {} if self.whole is None else {"resources": self.whole}
        )


def cpu(amount: str) -> Json:
    """Return an amount of CPU."""
    return {"cpu": amount}


def asks(amount: str) -> Json:
    """Return resources that request it."""
    return {"requests": cpu(amount)}


def may(amount: str) -> Json:
    """Return resources that limit it."""
    return {"limits": cpu(amount)}


SIDECAR: Final = {"sidecar": True}
CASES: Final = {
    "defaults of limit and request": Case(
        [[{"default": cpu("1"), "defaultRequest": cpu("200m")}]], [{}, {}], millicores=400
    ),
    "a limit without a request": Case([[{"defaultRequest": cpu("200m")}]], [may("600m")], millicores=600),
    "a limit, and a smaller default limit": Case([[{"default": cpu("300m")}]], [may("600m")], millicores=600),
    "a maximum alone": Case([[{"max": cpu("2")}]], [{}], millicores=2000),
    "a minimum alone": Case([[{"min": cpu("50m")}]], [{}], millicores=50),
    "two items of one LimitRange": Case(
        [[{"defaultRequest": cpu("100m")}, {"type": "Pod", "max": cpu("1"), "min": cpu("100m")}]],
        [may("500m"), may("500m")],
        millicores=1000,
    ),
    "two LimitRanges that agree": Case(
        [[{"defaultRequest": cpu("100m")}], [{"max": cpu("2")}]], [asks("1")], millicores=1000
    ),
    "an init container has them, too": Case([[{"defaultRequest": cpu("700m")}]], [asks("50m")], [{}], millicores=700),
    "a sidecar has them, too": Case([[{"defaultRequest": cpu("700m")}]], [asks("50m")], [SIDECAR], millicores=750),
    "an init container before a sidecar": Case(
        [[{"type": "Pod", "max": cpu("3")}]], [may("1")], [may("3"), {**SIDECAR, **may("1")}], millicores=3000
    ),
    "an init container after a sidecar": Case(
        [[{"type": "Pod", "max": cpu("3")}]],
        [may("1")],
        [{**SIDECAR, **may("1")}, may("3")],
        refused_for="maximum cpu usage per Pod is 3, but limit is 4",
    ),
    "a request above the maximum": Case(
        [[{"max": cpu("2")}]], [asks("3")], refused_for="must be less than or equal to cpu limit of 2"
    ),
    "a request above the default limit": Case(
        [[{"default": cpu("500m")}]], [asks("1")], refused_for="must be less than or equal to cpu limit of 500m"
    ),
    "less than the minimum": Case(
        [[{"min": cpu("100m")}]], [asks("50m")], refused_for="minimum cpu usage per Container is 100m"
    ),
    "an init container above the maximum": Case(
        [[{"max": cpu("1")}]], [{}], [may("2")], refused_for="maximum cpu usage per Container is 1, but limit is 2"
    ),
    "a ratio that is passed": Case(
        [[{"maxLimitRequestRatio": cpu("1500m")}]],
        [asks("1") | may("1501m")],
        refused_for="cpu max limit to request ratio per Container is 1500m",
    ),
    "a ratio that is kept": Case(
        [[{"maxLimitRequestRatio": cpu("1500m")}]], [asks("1") | may("1500m")], millicores=1000
    ),
    "a ratio of defaults": Case(
        [[{"default": cpu("1"), "defaultRequest": cpu("100m"), "maxLimitRequestRatio": cpu("10")}]],
        [{}],
        millicores=100,
    ),
    "more than a pod may have together": Case(
        [[{"type": "Pod", "max": cpu("1")}]], [may("600m"), may("600m")], refused_for="maximum cpu usage per Pod is 1"
    ),
    "a pod without a limit where pods have a maximum": Case(
        [[{"type": "Pod", "max": cpu("1")}]],
        [asks("100m")],
        refused_for="maximum cpu usage per Pod is 1.  No limit is specified",
    ),
    "a limit of the whole pod stands for its request before containers have defaults": Case(
        [[{"defaultRequest": cpu("500m")}]], [{}], whole=may("2"), millicores=2000
    ),
    "a limit of the whole pod is its limit": Case(
        [[{"type": "Pod", "max": cpu("2"), "min": cpu("2")}]], [{}], whole=may("2"), millicores=2000
    ),
    "a request of the whole pod": Case([[{"defaultRequest": cpu("500m")}]], [{}], whole=asks("3"), millicores=3000),
    "defaults above the limit of the whole pod": Case(
        [[{"default": cpu("2"), "defaultRequest": cpu("100m")}]],
        [{}],
        whole=may("1"),
        refused_for="must be less than or equal to pod limits of 1",
    ),
    "defaults above the request of the whole pod": Case(
        [[{"defaultRequest": cpu("800m")}]],
        [{}, {}],
        whole=asks("1"),
        refused_for="must be greater than or equal to aggregate container requests of 1600m",
    ),
    "a container's request is that of the whole, and defaults come on top": Case(
        [[{"defaultRequest": cpu("500m")}]],
        [asks("1"), {}],
        whole=may("4"),
        refused_for="must be greater than or equal to aggregate container requests of 1500m",
    ),
}
"""By what is particular about it."""
