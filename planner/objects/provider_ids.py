"""Whether a Node and a server are one machine, by what each says of itself.

A Node's provider id is set by its kubelet, or by whichever cloud controller looks at it first: k3s writes `k3s://`
and the name, Talos `talos://`. Such an id says nothing of the server. Its scheme may be another provider's here, too.
Source: Kubernetes API reference, NodeSpec.providerID, "<ProviderName>://<ProviderSpecificNodeID>".
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeMarks:
    """What a Node says of its machine."""

    request_uid: str = ""
    """Label: uid of the request that made it."""
    provider_id: str = ""
    is_unregistered: bool = False
    """It bears the startup taint, which only the user data of a machine of Growth's gives."""


@dataclass(frozen=True, slots=True)
class ServerMarks:
    """What is known of a server; empty where it is not known."""

    request_uid: str = ""
    provider_id: str = ""


def is_same_machine(node: NodeMarks, server: ServerMarks) -> bool:
    """Return whether the Node is that of the server, whose name it bears.

    The label of another request, and another server's id of the same provider, are another machine's. An id of another
    scheme needs a mark of Growth's beside it: the label of this request, or the startup taint, as labels may not have
    come with the Node. Without one, anybody's machine of that name would be taken for the server's.
    """
    if node.request_uid and server.request_uid and node.request_uid != server.request_uid:
        return False
    if not has_other_scheme(node.provider_id, server.provider_id):
        return not (node.provider_id and server.provider_id) or node.provider_id == server.provider_id
    is_labelled = bool(node.request_uid) and node.request_uid == server.request_uid
    return is_labelled or (not node.request_uid and node.is_unregistered)


def proves(node: NodeMarks, server: ServerMarks) -> bool:
    """Return whether the Node of this cluster shows that the server is this cluster's too: by request or provider id.

    For a server that does not bear the cluster's uid: its name is no proof, as another cluster may have chosen it.
    """
    is_named = bool(node.request_uid) and node.request_uid == server.request_uid
    return is_named or (bool(node.provider_id) and node.provider_id == server.provider_id)


def has_other_scheme(first: str, second: str) -> bool:
    """Return whether two provider ids are both known, and of different schemes: then they cannot be compared."""
    return bool(first and second) and _scheme(first) != _scheme(second)


def _scheme(provider_id: str) -> str:
    return provider_id.partition("://")[0] if "://" in provider_id else ""
