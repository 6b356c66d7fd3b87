"""The registration of a provider by its package: a kind of node class, its offerings, and how to connect.

One `ProviderKind` is the target of an entry point in the group `growth.providers`. All but `connect` is pure and loads
no client: plans of files, `growth catalogue` and `growth crds` need no cloud.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from activities.ports.catalogue import ClassCatalogue
from activities.ports.cluster import CONFIG_MAPS, Cluster, Object, Resource
from activities.ports.ports import Reader
from activities.ports.provider import Provider
from api.definitions import Definition
from api.keys import GROUP, VERSION
from api.meta import ObjectMeta
from api.v1alpha1.node_class_status import NodeClassStatus
from planner.objects.class_template import ClassTemplate
from planner.objects.offering import Offering


class NodeClassModel(Protocol):
    """The model of a kind of node class: an `api.model.Model` with these fields and a spec."""

    @property
    def kind(self) -> str:
        """Name of the kind."""
        ...

    @property
    def metadata(self) -> ObjectMeta:
        """As of each object."""
        ...

    @property
    def spec(self) -> object:
        """The kind's own."""
        ...

    @property
    def status(self) -> NodeClassStatus:
        """What Growth has learnt, and what the provider keeps there besides."""
        ...


ClassT = TypeVar("ClassT", bound=NodeClassModel)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The outside world of a provider."""

    cluster: Cluster
    cluster_name: str
    """Tells this cluster's servers from others'."""
    namespace: str
    """Where it may keep objects of its own."""
    now: Callable[[], datetime]
    """The time, UTC."""
    cluster_uid: str = ""
    """Tells it from another cluster of its name: `activities.ports.identity`."""
    endpoint: str | None = None
    """Where its API is, if the settings say that."""
    reader: Reader | None = None
    """A copy of its node classes that costs no call and may be behind; without one, `cluster` is asked."""


def own_account(node_class: Object) -> str:
    """Return that each class has an account of its own."""
    return str(node_class["metadata"]["name"])


def no_template(_node_class: object) -> ClassTemplate:
    """Return that no part of the class tells one machine of it from another."""
    return ClassTemplate()


def no_refusal(_server_type: str) -> str | None:
    """Return None: nothing is known against any type."""
    return None


# Without slots: Python 3.11 cannot make `ProviderKind[Model](...)` of a frozen generic dataclass with slots.
@dataclass(frozen=True)
class ProviderKind(Generic[ClassT]):
    """A kind of node class and its provider."""

    name: str
    """Of the cloud, in sentences, such as Hetzner."""
    definition: Definition
    """Model and columns of the node class: `growth crds` prints its definition."""
    provider_id_prefix: str
    """Begins the provider ids of its servers, such as `hcloud://`."""
    offerings: Callable[[ClassT, datetime], tuple[Offering, ...]]
    """Returns every offering of the class at a time, the sold-out ones too. Raises `InvalidConfiguration`."""
    catalogue: Callable[[ClassT, datetime], ClassCatalogue]
    """Returns the class's price list for people at a time, also of a class that cannot be used."""
    connect: Callable[[Surroundings], Provider]
    """Returns the provider; what it needs is imported then, and no call is made yet."""
    refusal: Callable[[str], str | None] = no_refusal
    """Returns why no class of the kind can ever offer a server type, or None."""
    account: Callable[[Object], str] = own_account
    """Returns what is the same for classes of one account: a machine of one that goes makes room for the others."""
    template: Callable[[ClassT], ClassTemplate] = no_template
    """Returns what each machine of the class has for life, such as its image: once it differs, they have drifted."""
    cluster_rules: tuple[Object, ...] = ()
    """RBAC rules that its provider needs in the cluster, besides reading its classes and writing their status."""
    namespace_rules: tuple[Object, ...] = ()
    """RBAC rules that its provider needs in Growth's namespace."""
    config_maps: tuple[str, ...] = ()
    """Names of ConfigMaps that it keeps in Growth's namespace for itself: `growth purge` deletes them."""
    is_simulated: Callable[[Object], bool] | None = None
    """Returns whether a Node is a simulated machine, which runs nothing; only a kind of such machines has it. Its
    classes are not used beside Nodes of which no kind says so, unless the settings allow it."""
    is_required: bool = False
    """Whether Growth always has the definition: when it is absent, Growth is being removed. Else nobody uses it."""

    @property
    def model(self) -> type[Any]:
        """The model of the node class."""
        return self.definition.model

    @property
    def kind(self) -> str:
        """Name of the kind, such as KwokNodeClass."""
        return self.definition.kind

    @property
    def node_classes(self) -> Resource:
        """Where the node classes are."""
        return node_classes_of(self.definition, is_optional=not self.is_required)


def node_classes_of(definition: Definition, *, is_optional: bool = True) -> Resource:
    """Return where the node classes of a definition are."""
    return Resource(GROUP, VERSION, definition.kind, definition.plural, namespaced=False, is_optional=is_optional)


def rights_on(kinds: tuple[ProviderKind[Any], ...]) -> tuple[list[Object], list[Object]]:
    """Return the RBAC rules that a worker needs for these kinds: in the cluster, and in its namespace."""
    plurals = [kind.definition.plural for kind in kinds]
    definitions = [f"{plural}.{GROUP}" for plural in plurals]
    cluster: list[Object] = [
        {"apiGroups": [GROUP], "resources": plurals, "verbs": ["get", "list", "watch"]},
        {"apiGroups": [GROUP], "resources": [f"{plural}/status" for plural in plurals], "verbs": ["patch"]},
        {
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": definitions,
            "verbs": ["get"],
        },
    ]
    own: list[Object] = []
    for kind in kinds:
        cluster += kind.cluster_rules
        own += kind.namespace_rules
        if kind.config_maps:
            names = list(kind.config_maps)
            own.append(
                {
                    "apiGroups": [""],
                    "resources": [CONFIG_MAPS.plural],
                    "resourceNames": names,
                    "verbs": ["get", "delete"],
                }
            )
    return cluster, own
