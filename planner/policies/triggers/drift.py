"""Drift: machines that are made with something else than their class and pool now ask for go, the oldest first.

What counts, and the hash of it, is in `planner.objects.class_template`. A Node without a hash, or with one that this
version cannot compare, takes today's and has not drifted: neither an upgrade of Growth nor a garbled annotation
replaces a machine. A label or a taint of the template counts although it could be changed on the Node: pods that stand
on it were placed by what it was, and a person may have changed the Node on purpose.
Source: Karpenter docs, "Disruption: Drift"; kubernetes-sigs/karpenter, designs/drift-hash-versioning.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from api.keys import ANNOTATION_TEMPLATE_HASH, LABEL_ARCH
from api.v1alpha1.node_pool import NodePool
from planner.objects.class_template import ClassTemplate, is_comparable, template_hash, unlisted
from planner.policies.port import Advice, PolicyView, Quota
from planner.policies.triggers.worn_out import DueMachine, Wear, advice, open_pools, own_machines
from planner.report.pool_report import DRIFTED
from planner.supply.allowed_types import AllowedTypes
from planner.supply.machines import Machine

DRIFT: Final = "Drift"
MOST_ADOPTED: Final = 500
"""Nodes that take today's hash in one round: each is a write."""
CHANGED: Final = "its class or the pool's template has changed since it was bought"
_WEAR: Final = Wear(DRIFT, DRIFTED, "Machines that are not what class and pool ask for now")
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TemplateState:
    """How a machine stands to what is asked for now."""

    drift: str = ""
    """What has changed, as the rest of a sentence; empty if nothing has."""
    adopts: str | None = None
    """The hash that its Node takes, where that changes."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Proposes the machines that have drifted, and lets Nodes that nothing is known of take today's hash."""

    def propose(self, view: PolicyView) -> Advice:
        """Return the machines, the hashes to write, and a report for each pool with drifted machines."""
        by_pool = own_machines(view)
        adopted: dict[str, str] = {}
        due: list[tuple[NodePool, DueMachine, Quota | None]] = []
        for pool in open_pools(view):
            made_with = view.class_templates.get(str(pool.spec.template.class_ref))
            if made_with is None:
                continue
            name = pool.metadata.name
            for machine, state in _states(view.allowed[name], made_with, by_pool.get(name, [])):
                if state.adopts is not None and len(adopted) < MOST_ADOPTED:
                    adopted[machine.name] = state.adopts
                if state.drift:
                    sentence = f"{state.drift[:1].upper()}{state.drift[1:]}"
                    due.append((pool, DueMachine(machine, view.now, sentence), None))
        return replace(advice(view, _WEAR, due), template_hashes=adopted)


def template_state(machine: Machine, allowed: AllowedTypes, made_with: ClassTemplate) -> TemplateState:
    """Return how the machine, whose Node is there, stands to its pool and to the pool's class."""
    objection = allowed.objection(machine.server_type, machine.location)
    return _state(machine, objection, _todays(machine, allowed.pool, made_with))


def _states(
    allowed: AllowedTypes, made_with: ClassTemplate, machines: list[Machine]
) -> Iterator[tuple[Machine, TemplateState]]:
    hashes: dict[tuple[str, str], str] = {}
    objections: dict[tuple[str, str], str] = {}
    for machine in sorted(machines, key=_age):
        key = machine.server_type, _architecture(machine)
        if key not in hashes:
            hashes[key] = _todays(machine, allowed.pool, made_with)
        place = machine.server_type, machine.location
        if place not in objections:
            objections[place] = allowed.objection(*place)
        yield machine, _state(machine, objections[place], hashes[key])


def _state(machine: Machine, objection: str, today: str) -> TemplateState:
    if not _architecture(machine):
        # Its image goes by that: a Node that does not say so yet cannot be compared.
        return TemplateState()
    annotations: Mapping[str, str] = {} if machine.node is None else machine.node.annotations
    of_node = annotations.get(ANNOTATION_TEMPLATE_HASH)
    if not is_comparable(of_node):
        of_request = None if machine.request is None else machine.request.status.template_hash
        if of_request is not None and is_comparable(of_request):
            return TemplateState(adopts=of_request)
        return TemplateState(adopts=unlisted(today) if objection else today)
    if of_node == unlisted(today):
        return TemplateState(adopts=None if objection else today)
    if of_node != today:
        return TemplateState(drift=CHANGED)
    return TemplateState(drift=objection if machine.server_type else "")


def _todays(machine: Machine, pool: NodePool, made_with: ClassTemplate) -> str:
    ref = pool.spec.template.class_ref
    return template_hash(pool, ref, made_with, machine.server_type, _architecture(machine))


def _architecture(machine: Machine) -> str:
    return "" if machine.node is None else machine.node.labels.get(LABEL_ARCH, "")


def _age(machine: Machine) -> tuple[datetime, str]:
    created = None if machine.node is None else machine.node.created_at
    return created or _LONG_AGO, machine.name
