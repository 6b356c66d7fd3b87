"""Which planned pods of reserved machines are still to come: a life is woken by the last of them, not by each.

A machine of twenty pods that are bound one after the other would else look twenty times, to wait again.
"""

from activities.ports.cluster import Object


class Arrivals:
    """Remembers who is awaited on each reserved machine, by the name of its request and Node.

    It knows what it was told since it was made: pods that were bound before are still awaited here, and the life
    finds out by its timer.
    """

    def __init__(self) -> None:
        self._planned: dict[str, frozenset[str]] = {}
        self._arrived: dict[str, set[str]] = {}

    def expect(self, request: Object) -> None:
        """Take over whom the request's machine is kept for: nobody once its reservation has ended."""
        name = request["metadata"]["name"]
        if "releasedAt" in (request.get("status") or {}):
            self.forget(name)
            return
        seats = (request.get("spec") or {}).get("reservedFor") or ()
        self._planned[name] = frozenset(seat["uid"] for seat in seats)
        self._arrived.setdefault(name, set())

    def forget(self, name: str) -> None:
        """Expect nobody any more."""
        self._planned.pop(name, None)
        self._arrived.pop(name, None)

    def is_last(self, pod: Object, node: str) -> bool:
        """Take a pod that was bound to the node, and return whether the machine now waits for no other."""
        uid, planned = pod["metadata"]["uid"], self._planned.get(node, frozenset())
        if uid not in planned:
            return False
        self._arrived[node].add(uid)
        return planned <= self._arrived[node]
