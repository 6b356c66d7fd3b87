"""HetznerNodeClass: servers of one Hetzner Cloud project, and how they become Nodes."""

from typing import Annotated, Final, Literal

from pydantic import Field, StrictBool, StrictInt, model_validator

from api.keys import API_VERSION
from api.meta import ObjectMeta
from api.model import Model, Private
from api.names import Labels, LabelValue, dns_label
from api.quantity import Quantity
from api.rules import Check, Text, distinct, rule, rules
from api.v1alpha1.class_parts.attach_limits import AttachLimits
from api.v1alpha1.class_parts.billing import Billing
from api.v1alpha1.hetzner_node_class_status import HetznerNodeClassStatus
from api.v1alpha1.node_pool import CLASS_NAME

_NAME: Final = Text(
    pattern="^[A-Za-z0-9][A-Za-z0-9 ._/@:-]{0,127}$",
    longest=128,
    form="the name or the id of something in the project, at most 128 characters",
)
Name = Annotated[str, _NAME]
"""The name, or the id in digits, of something in the project."""
_SELECTOR: Final = Text(
    pattern="^[A-Za-z0-9(),.!=_/ -]{1,256}$", longest=256, form='a label selector, such as "role=worker"'
)
_OBJECT_NAME: Final = Text(
    pattern="^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", longest=253, form="the name of an object in Kubernetes"
)
_KEY: Final = Text(pattern="^[-._a-zA-Z0-9]{1,253}$", longest=253, form='letters, digits, "-", "_" and "."')
_VARIABLE: Final = Text(
    pattern="^[a-zA-Z][a-zA-Z0-9_-]{0,62}$",
    longest=63,
    form='a name of letters, digits, "-" and "_" that starts with a letter',
)
_RANGE: Final = Text(
    pattern="^[0-9]{1,3}([.][0-9]{1,3}){3}/[0-9]{1,2}$", longest=18, form='a range such as "10.0.1.0/24"'
)
_RESERVED: Final = Check(
    lambda labels: not any(key.startswith("hetzner.cloud/") for key in labels),
    "!self.exists(key, key.startsWith('hetzner.cloud/'))",
    "keys under hetzner.cloud/ are Hetzner's own",
)
_VARIABLE_NAMES: Final = Check(
    lambda variables: all(_fits(_VARIABLE, name) for name in variables),
    f"self.all(name, name.matches('{_VARIABLE.pattern}'))",
    f"each variable must be {_VARIABLE.form}",
)
LONGEST_USER_DATA: Final = 32 * 1024
"""Bytes. Source: Hetzner Cloud API, "Create a Server", user_data."""


def _fits(form: Text, text: str) -> bool:
    try:
        form.check(text)
    except ValueError:
        return False
    return True


def _one_of(*fields: str) -> str:
    return " + ".join(f"(has(self.{field}) ? 1 : 0)" for field in fields) + " == 1"


class KeyRef(Model):
    """One key of a Secret or ConfigMap."""

    namespace: Annotated[str, dns_label(63)]
    """Namespace of the object."""
    name: Annotated[str, _OBJECT_NAME]
    """Name of the object."""
    key: Annotated[str, _KEY]
    """Key in its data."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}, key {self.key}"


class TokenRef(KeyRef):
    """The Secret with the project's API token."""

    key: Annotated[str, _KEY] = "token"
    """Key in its data."""


_ONE_IMAGE: Final = rule(_one_of("name", "id", "selector"), "exactly one of name, id and selector is needed")


class HetznerImage(Model):
    """An image, by one of three ways."""

    model_config = rules(_ONE_IMAGE)

    name: Name | None = None
    """Name of a system image, such as debian-12, of each architecture. Without it, id or selector is needed."""
    id: Annotated[StrictInt, Field(ge=1)] | None = None
    """Id of an image or snapshot. Without it, name or selector is needed."""
    selector: Annotated[str, _SELECTOR] | None = None
    """Label selector of snapshots, of which the newest is taken. Without it, name or id is needed."""

    @model_validator(mode="after")
    def _one(self) -> "HetznerImage":
        if sum(each is not None for each in (self.name, self.id, self.selector)) != 1:
            raise ValueError(_ONE_IMAGE["message"])
        return self


class HetznerImages(Model):
    """Images that differ from the class's own, by architecture."""

    amd64: HetznerImage | None = None
    """Image of servers with Intel or AMD processors. Without it, the image of the class."""
    arm64: HetznerImage | None = None
    """Image of servers with Ampere processors. Without it, the image of the class."""


class HetznerNetwork(Model):
    """A private network that each server joins."""

    name: Name
    """Name or id of the network."""
    subnet_ip_range: Annotated[str, _RANGE] | None = Field(default=None, alias="subnetIPRange")
    """The subnet that the address comes from. Without it, Hetzner chooses one."""


class HetznerPlacement(Model):
    """How servers are spread over Hetzner's hosts."""

    strategy: Literal["none", "spread"] = "none"
    """With spread, servers stand on different hosts, by placement groups of ten that Growth makes and deletes."""
    required: StrictBool = False
    """Whether a server that cannot be spread is not bought. If not, it is bought without a group."""


_ONE_VALUE: Final = rule(
    _one_of("value", "secretKeyRef", "configMapKeyRef"), "exactly one of value, secretKeyRef and configMapKeyRef"
)


class UserDataVariable(Model):
    """The value of a variable."""

    model_config = rules(_ONE_VALUE)

    value: Annotated[str, Field(max_length=4096)] | None = None
    """The value itself. Without it, secretKeyRef or configMapKeyRef is needed."""
    secret_key_ref: KeyRef | None = None
    """The Secret that holds it. Without it, value or configMapKeyRef is needed."""
    config_map_key_ref: KeyRef | None = None
    """The ConfigMap that holds it. Without it, value or secretKeyRef is needed."""

    @model_validator(mode="after")
    def _one(self) -> "UserDataVariable":
        if sum(each is not None for each in (self.value, self.secret_key_ref, self.config_map_key_ref)) != 1:
            raise ValueError(_ONE_VALUE["message"])
        return self


_ONE_TEMPLATE: Final = rule(
    _one_of("template", "secretKeyRef", "configMapKeyRef"),
    "exactly one of template, secretKeyRef and configMapKeyRef is needed",
)


class HetznerUserData(Model):
    """What cloud-init does at a server's first boot, so that it joins the cluster."""

    model_config = rules(_ONE_TEMPLATE)

    template: Annotated[str, Field(max_length=LONGEST_USER_DATA)] | None = None
    """The text, with variables as {{ name }}. Without it, secretKeyRef or configMapKeyRef is needed."""
    secret_key_ref: KeyRef | None = None
    """The Secret that holds the text. Without it, template or configMapKeyRef is needed."""
    config_map_key_ref: KeyRef | None = None
    """The ConfigMap that holds the text. Without it, template or secretKeyRef is needed."""
    variables: Annotated[dict[str, UserDataVariable], Field(max_length=50), _VARIABLE_NAMES] = Field(
        default_factory=dict
    )
    """Values for variables of the text, besides those that Growth gives. Without it, none."""

    @model_validator(mode="after")
    def _one(self) -> "HetznerUserData":
        if sum(each is not None for each in (self.template, self.secret_key_ref, self.config_map_key_ref)) != 1:
            raise ValueError(_ONE_TEMPLATE["message"])
        return self


_RESERVABLE: Final = ("cpu", "memory", "ephemeral-storage")
Reserved = Annotated[
    dict[str, Quantity],
    Field(max_length=3),
    Check(
        lambda kept: all(name in _RESERVABLE for name in kept),
        f"self.all(name, name in {list(_RESERVABLE)})",
        f"only {', '.join(_RESERVABLE)} can be reserved",
    ),
]


class HetznerKubelet(Model):
    """What the kubelet keeps, told to plans and to the kubelet alike."""

    max_pods: Annotated[int, Field(strict=True, ge=1, le=1000)] = 110
    """Most pods on a Node."""
    kube_reserved: Reserved = Field(default_factory=dict)
    """Kept for the kubelet and the container runtime: cpu, memory, ephemeral-storage. Without it, nothing."""
    system_reserved: Reserved = Field(default_factory=dict)
    """Kept for the operating system: cpu, memory, ephemeral-storage. Without it, nothing."""
    eviction_memory: Quantity = "100Mi"
    """Pods are evicted when less memory than this is free; the kubelet's own default is 100Mi."""
    eviction_storage_percent: Annotated[int, Field(strict=True, ge=0, le=90)] = 10
    """Pods are evicted and images deleted when less of the disk is free, in percent; the kubelet's default is 10."""


_NO_ADDRESS: Final = rule(
    "!has(self.enableIPv4) || self.enableIPv4 || (has(self.enableIPv6) && self.enableIPv6)"
    " || (has(self.networks) && self.networks.size() > 0)",
    "without IPv4 and IPv6 a server needs a network",
)


class HetznerNodeClassSpec(Model):
    """The project, and what each server of the class is like."""

    model_config = rules(_NO_ADDRESS)

    token_secret_ref: Annotated[TokenRef, Private()]
    """The Secret with the project's API token, which must be allowed to read and write."""
    image: HetznerImage
    """Image of each server."""
    image_by_architecture: HetznerImages = HetznerImages()
    """Other images for single architectures."""
    ssh_keys: Annotated[tuple[Name, ...], Field(max_length=50)] = ()
    """Names or ids of SSH keys; one that does not exist is told of and left out. Without it, none."""
    networks: Annotated[tuple[HetznerNetwork, ...], Field(max_length=3), distinct("name")] = ()
    """Private networks, at most three; only locations in their network zone are used. Without it, none."""
    firewalls: Annotated[tuple[Name, ...], Field(max_length=5)] = ()
    """Names or ids of firewalls; while one of them does not exist, nothing is bought. Without it, none."""
    placement: HetznerPlacement = HetznerPlacement()
    """How servers are spread over Hetzner's hosts."""
    enable_ipv4: StrictBool = Field(default=True, alias="enableIPv4")
    """Whether each server gets a public IPv4 address; its price is added to the server's."""
    enable_ipv6: StrictBool = Field(default=True, alias="enableIPv6")
    """Whether each server gets a public IPv6 network."""
    locations: Annotated[tuple[LabelValue, ...], Field(max_length=32)] = ()
    """Names of the locations where servers may be bought, such as fsn1. Without it, every one."""
    server_labels: Annotated[Labels, _RESERVED] = Field(default_factory=dict)
    """Further labels of each server in the project. Without it, none."""
    user_data: Annotated[HetznerUserData, Private()]
    """What cloud-init does at the first boot."""
    kubelet: HetznerKubelet = HetznerKubelet()
    """What the kubelet keeps for itself and for the system."""
    attach_limits: AttachLimits = Field(default_factory=dict)
    """Most volumes of a server by CSI driver; CSINodes of its type go before. Without it, csi.hetzner.cloud has 16."""
    billing: Billing | None = None
    """How machines are billed: an empty one stays until the period ends that has begun. Without it, not known."""

    @model_validator(mode="after")
    def _reachable(self) -> "HetznerNodeClassSpec":
        if not (self.enable_ipv4 or self.enable_ipv6 or self.networks):
            raise ValueError(_NO_ADDRESS["message"])
        return self


class HetznerNodeClass(Model):
    """Servers of one Hetzner Cloud project."""

    model_config = rules(CLASS_NAME.rule("self.metadata.name", field=".metadata.name"))

    api_version: Literal["growth.dev/v1alpha1"] = API_VERSION
    kind: Literal["HetznerNodeClass"] = "HetznerNodeClass"
    metadata: ObjectMeta
    spec: HetznerNodeClassSpec
    status: HetznerNodeClassStatus = HetznerNodeClassStatus()

    @model_validator(mode="after")
    def _named(self) -> "HetznerNodeClass":
        self.metadata.check_name(CLASS_NAME)
        return self
