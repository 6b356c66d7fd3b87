"""What the package registers: the target of its entry point."""

from activities.ports.provider import Provider
from activities.ports.provider_kind import ProviderKind, Surroundings
from overcast.catalogue import catalogue, offerings
from overcast.model import DEFINITION, OvercastNodeClass


def _connect(surroundings: Surroundings) -> Provider:
    from overcast.provider import OvercastProvider  # noqa: PLC0415 - plans of files do without

    return OvercastProvider(surroundings)


KIND = ProviderKind[OvercastNodeClass](
    name="Overcast",
    definition=DEFINITION,
    provider_id_prefix="overcast://",
    offerings=lambda node_class, _now: offerings(node_class),
    catalogue=lambda node_class, _now: catalogue(node_class),
    connect=_connect,
    cluster_rules=({"apiGroups": [""], "resources": ["nodes"], "verbs": ["create"]},),
    namespace_rules=({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},),
)
