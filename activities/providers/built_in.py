"""The providers that are built in: where their node classes are, where they are registered, what settings they have.

The one table of them. pyproject.toml has the same entry points; this one counts where the distribution's metadata is
missing or older than the code, as in a checkout.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Final

from activities.ports.cluster import Resource
from api.keys import GROUP, VERSION

KWOK_NODE_CLASSES: Final = Resource(GROUP, VERSION, "KwokNodeClass", "kwoknodeclasses", namespaced=False)
HETZNER_NODE_CLASSES: Final = Resource(GROUP, VERSION, "HetznerNodeClass", "hetznernodeclasses", namespaced=False)
ENTRY_POINTS: Final = "growth.providers"
"""Group of the entry points, each a `ProviderKind`, by which a package brings a provider."""
BUILT_IN: Final = (
    EntryPoint("kwok", "activities.providers.kwok.registration:KIND", ENTRY_POINTS),
    EntryPoint("hetzner", "activities.providers.hetzner.registration:KIND", ENTRY_POINTS),
)
"""In the order in which they are shown."""
VARIABLES: Final[Mapping[str, str]] = {
    "GROWTH_HCLOUD_ENDPOINT": "URL of the Hetzner Cloud API; default https://api.hetzner.cloud/v1.",
}
"""Environment variables of providers that `worker.settings` has, and what each says."""
