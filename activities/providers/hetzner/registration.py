"""Hetzner Cloud's servers as a kind of node class that Growth serves: the target of its entry point."""

from typing import Final

from activities.ports.cluster import Object
from activities.ports.provider import Provider
from activities.ports.provider_kind import ProviderKind, Surroundings
from activities.providers.hetzner.api.facts import DEFAULT_ENDPOINT
from activities.providers.hetzner.classes.catalogue import offerings, refusal
from activities.providers.hetzner.classes.price_list import price_list
from activities.providers.hetzner.classes.template import class_template
from api.definitions import HETZNER_NODE_CLASS
from api.v1alpha1.hetzner_node_class import HetznerNodeClass


def _connect(surroundings: Surroundings) -> Provider:
    # It loads the client of Hetzner's API, which takes a second.
    from activities.providers.hetzner.provider import HetznerProvider  # noqa: PLC0415

    return HetznerProvider(
        surroundings.cluster,
        now=surroundings.now,
        cluster_name=surroundings.cluster_name,
        cluster_uid=surroundings.cluster_uid,
        endpoint=surroundings.endpoint or DEFAULT_ENDPOINT,
        classes=surroundings.reader,
    )


def _account(node_class: Object) -> str:
    ref = {"key": "token"} | (node_class.get("spec", {}).get("tokenSecretRef") or {})
    return "/".join(str(ref.get(part)) for part in ("namespace", "name", "key"))


KIND: Final = ProviderKind[HetznerNodeClass](
    name="Hetzner",
    definition=HETZNER_NODE_CLASS,
    provider_id_prefix="hcloud://",
    offerings=offerings,
    catalogue=price_list,
    connect=_connect,
    refusal=refusal,
    account=_account,
    template=class_template,
    # What a class takes user data from. Secrets are granted by name, beside the class that names them.
    namespace_rules=({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},),
    is_required=True,
)
