"""Kinds of node class whose machines are simulated, and whether their classes are used: not beside real Nodes.

The scheduler would bind pods that wait for a real machine to one that runs nothing. Whoever wants that says so in the
settings; the worker writes on each class what holds, and commands that only look go by that.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from activities.ports.cluster import Object
from api.meta import READY
from planner.lifecycle.json_predicates import conditions
from planner.lifecycle.request import REAL_CLUSTER

log = logging.getLogger(__name__)

ALLOWED: Final = "SimulatedMachinesAllowed"
"""Reason of a class that is used beside real Nodes, as the settings of the worker say."""
_SHOWN: Final = 100
"""Characters of what a Node says of itself."""


@dataclass(frozen=True, slots=True)
class ClassUse:
    """The use of a class of simulated machines on a cluster that has a real Node."""

    is_used: bool
    message: str
    """Which Node is real, and what follows from that."""

    @property
    def reason(self) -> str:
        """Of the condition Ready."""
        return ALLOWED if self.is_used else REAL_CLUSTER

    @property
    def barrier(self) -> str:
        """Why nothing of the class is bought; empty where it is used."""
        return "" if self.is_used else self.message


@dataclass(frozen=True, slots=True)
class SimulatedKinds:
    """The kinds of simulated machines that this installation serves."""

    rules: Mapping[str, Callable[[Object], bool]] = field(default_factory=dict)
    """By kind of node class: returns whether a Node is a simulated machine."""
    are_allowed: bool | None = None
    """Whether they are used beside real Nodes, by the settings; None: as the worker has written on the class."""

    def real_node(self, nodes: Iterable[Object]) -> Object | None:
        """Return the oldest Node that no rule knows as simulated, None if there is none.

        One that is not Ready, cordoned or being deleted is real until it is gone. The oldest, so that another is named
        only when that one goes.
        """
        rules = tuple(self.rules.values())
        real = (node for node in nodes if not any(_knows(rule, node) for rule in rules))
        return min(real, key=_age, default=None)

    def use_of(self, node_class: Object, real_node: Object | None) -> ClassUse | None:
        """Return how the class stands beside this Node; None where no Node is real."""
        if real_node is None:
            return None
        is_used = _is_allowed(node_class) if self.are_allowed is None else self.are_allowed
        reality = f"Node {real_node['metadata']['name']} is real ({_mark(real_node)})"
        if is_used:
            return ClassUse(is_used, f"{reality}; the worker has --simulated-machines and buys this class all the same")
        return ClassUse(
            is_used,
            f"{reality}, and machines of this class are simulated: pods bound to them would not run; "
            "`growth run --simulated-machines` buys them all the same",
        )


def _knows(rule: Callable[[Object], bool], node: Object) -> bool:
    try:
        return bool(rule(node))
    except Exception:
        # A fault in one provider's own code must not stop the rounds of all others: it vouches for no Node then.
        log.debug("whether Node %s is simulated cannot be told", node["metadata"]["name"], exc_info=True)
        return False


def _is_allowed(node_class: Object) -> bool:
    return any(
        each.get("type") == READY and each.get("status") == "True" and each.get("reason") == ALLOWED
        for each in conditions(node_class)
    )


def _age(node: Object) -> tuple[str, str]:
    metadata = node["metadata"]
    return metadata.get("creationTimestamp") or "", metadata["name"]


def _mark(node: Object) -> str:
    """Return what shows that the Node is real, in one line."""
    provider_id = (node.get("spec") or {}).get("providerID")
    kubelet = ((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion")
    mark = f"provider id {provider_id}" if provider_id else f"kubelet {kubelet or 'unknown'}"
    line = " ".join(mark.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
