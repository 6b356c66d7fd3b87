"""Says what must never happen and what must be true in the end, without asking the code that it judges."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from activities.ports.cluster import Object, WatchEvent
from activities.ports.provider import Server
from api.keys import TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED
from api.v1alpha1.node_removal_request import RemovalPhase
from simulator.scheduling.pod_request import occupies
from simulator.view import View


class Oracle:
    """Watches a history.

    Args:
        most_servers: more than these at one time are a violation.
    """

    def __init__(self, most_servers: int) -> None:
        self._most_servers = most_servers
        self._pods: defaultdict[str, set[str]] = defaultdict(set)
        self._servers: set[str] = set()
        self._excused: set[str] = set()
        self.bought: list[str] = []
        """Names of all servers that ever existed, in order."""
        self.violations: list[str] = []
        self._leaving: dict[str, str] = {}
        self.may_leave: Mapping[str, Callable[[], int]] = {}
        """How many machines may be under removal at this moment, by reason, as the story knows; others are free."""
        self.planned: dict[str, str] = {}
        """By uid of pod, the request that last had a seat for it; so also its node's name."""

    def note_request(self, event: WatchEvent) -> None:
        """Keep in mind for which pods the machine was bought."""
        request = event.object
        for seat in request["spec"].get("reservedFor") or ():
            self.planned[seat["uid"]] = request["metadata"]["name"]

    def note_removal(self, event: WatchEvent) -> None:
        """Judge, when a removal begins, whether so many may be under way for its reason; parked ones are not."""
        removal = event.object
        uid, reason, status = removal["metadata"]["uid"], removal["spec"]["reason"], removal.get("status", {})
        if event.type == "DELETED" or "cancel" in status or status.get("phase") == RemovalPhase.COULD_NOT_REMOVE:
            self._leaving.pop(uid, None)
            return
        is_new = uid not in self._leaving
        self._leaving[uid] = reason
        if is_new and reason in self.may_leave:
            going, most = list(self._leaving.values()).count(reason), self.may_leave[reason]()
            if going > most:
                self.violations.append(f"{going} machines are under removal for {reason}, at most {most} may be")

    def excuse(self, name: str) -> None:
        """Let this server go with pods on it: a person asked for its end before it was Ready."""
        self._excused.add(name)

    def note_pod(self, event: WatchEvent) -> None:
        """Keep in mind which pods are on which node."""
        pod = event.object
        node, uid = pod["spec"].get("nodeName"), pod["metadata"]["uid"]
        if node and not _is_daemon(pod):
            if event.type == "DELETED" or not occupies(pod):
                self._pods[node].discard(uid)
            else:
                self._pods[node].add(uid)

    def note_servers(self, servers: dict[str, Server]) -> None:
        """Judge what the provider has now."""
        new, gone = set(servers) - self._servers, self._servers - set(servers)
        self._servers = set(servers)
        for name in sorted(new):
            if name in self.bought:
                self.violations.append(f"server {name} was bought twice")
            self.bought.append(name)
        self.violations += [
            f"server {name} went with pods on it" for name in sorted(gone - self._excused) if self._pods[name]
        ]
        if len(servers) > self._most_servers:
            self.violations.append(f"{len(servers)} servers at once, at most {self._most_servers} are allowed")

    def judge(self, end: View, *, servers: int) -> list[str]:
        """Return everything that is wrong in the end, when all is quiet and `servers` machines are wanted."""
        wrong = list(self.violations)
        if len(end.servers) != servers:
            wrong.append(f"{len(end.servers)} servers at the provider, {servers} are wanted: {sorted(end.servers)}")
        if set(end.nodes) != set(end.servers):
            wrong.append(f"nodes {sorted(end.nodes)} and servers {sorted(end.servers)} differ")
        wrong += [f"pod {key} has no node" for key in end.pending()]
        wrong += [
            f"{kind} taint left on {node}"
            for kind in (TAINT_RESERVED, TAINT_SCALE_DOWN, TAINT_UNREGISTERED)
            for node in end.taints(kind)
        ]
        wrong += [f"{name} is left in phase {phase}" for name, phase in end.phases().items() if phase != "Ready"]
        return wrong


def _is_daemon(pod: Object) -> bool:
    return any(o["kind"] == "DaemonSet" for o in pod["metadata"].get("ownerReferences") or ())
