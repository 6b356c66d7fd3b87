"""A policy that would empty every machine, as the ones that evict do, and what became of that."""

from dataclasses import dataclass, replace

from planner.plan import plan
from planner.policies.port import Advice, MachineAction, PolicyView, Proposal
from tests.builders import node, pod
from tests.planner.scenes import scene

OF_SET = ("ReplicaSet", "web")


@dataclass(frozen=True)
class EmptyAll:
    """Proposes every machine, in steps or each alone."""

    names: tuple[str, ...] = ()
    """All of them without any."""
    step: str = ""
    reason: str = "Consolidation"

    def propose(self, view: PolicyView) -> Advice:
        names = self.names or tuple(c.machine.name for c in view.candidates if c.action is MachineAction.REMOVE)
        one = Proposal("", MachineAction.REMOVE, self.reason, "It saves", view.now, evicts=True, step=self.step)
        return Advice(tuple(replace(one, machine=name) for name in names))


def drained(*objects, mode="drain", **parts):
    """Return a scene whose pool lets machines be emptied, all at once."""
    settings = {"mode": mode, "budgets": [{"nodes": "100%"}]} | parts.pop("scale_down", {})
    return scene(*objects, scaleDown=settings, **parts)


def decided(given, *policies, **parts):
    """Return the plan of the scene under a policy that would empty all machines."""
    return plan(given.snapshot(**parts), policies=policies or (EmptyAll(),))


def outcome(given, *policies):
    """Return the nodes that go, and by node what keeps the others."""
    made = decided(given, *policies)
    return [r.node for r in made.removals], {b.node: (b.reason, b.why) for b in made.blocked}


def runs(name, node_name="n", **parts):
    """Return a Ready pod of a ReplicaSet on a node."""
    return pod(name, node=node_name, **({"owner": OF_SET, "ready": True} | parts))


def one_node(*objects, pods=(), annotations=None, **parts):
    """Return a scene with the Node n."""
    return drained(node("n", annotations=annotations), *objects, pods=list(pods), **parts)
