"""KWOK's machines as a kind of node class that Growth serves: the target of its entry point."""

from typing import Final

from activities.ports.provider import Provider
from activities.ports.provider_kind import ProviderKind, Surroundings
from activities.providers.kwok.catalogue import catalogue, class_template, offerings
from activities.providers.kwok.faults import NAME as FAULTS
from activities.providers.kwok.simulated_node import is_simulated
from api.definitions import KWOK_NODE_CLASS
from api.v1alpha1.kwok_node_class import KwokNodeClass


def _connect(surroundings: Surroundings) -> Provider:
    # It loads what plans of files do without.
    from activities.providers.kwok.provider import KwokProvider  # noqa: PLC0415

    return KwokProvider(surroundings.cluster, surroundings.namespace, surroundings.now)


KIND: Final = ProviderKind[KwokNodeClass](
    name="KWOK",
    definition=KWOK_NODE_CLASS,
    provider_id_prefix="kwok://",
    offerings=lambda node_class, _now: offerings(node_class),
    catalogue=lambda node_class, _now: catalogue(node_class),
    connect=_connect,
    template=class_template,
    # There is no kubelet that would make its Node, nor a device plug-in that reports late.
    cluster_rules=(
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ),
    # Records of its servers.
    namespace_rules=(
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "patch", "delete"]},
    ),
    config_maps=(FAULTS,),
    is_simulated=is_simulated,
    is_required=True,
)
