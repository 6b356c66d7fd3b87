"""Wrong HetznerNodeClasses, and what is said of each."""

from tests.api.objects import hetzner_class
from tests.api.refusals import Refusal

_IMAGE = "exactly one of name, id and selector is needed"
_TEXT = "exactly one of template, secretKeyRef and configMapKeyRef is needed"
_VALUE = "exactly one of value, secretKeyRef and configMapKeyRef"
_ADDRESS = "without IPv4 and IPv6 a server needs a network"
_RESERVED = "keys under hetzner.cloud/ are Hetzner's own"
_KEPT = "only cpu, memory, ephemeral-storage can be reserved"
_NAME = "must be the name or the id of something in the project, at most 128 characters"
_RANGE = 'must be a range such as "10.0.1.0/24"'
_DRIVER = 'each key must be the name of a CSI driver, such as "csi.hetzner.cloud"'
_VARIABLE = 'each variable must be a name of letters, digits, "-" and "_" that starts with a letter'
_DATA = {"template": "{{ kubelet.args }}"}

WRONG_HETZNER_CLASSES = {
    "image by two ways": Refusal(hetzner_class(image={"name": "a", "id": 1}), f"spec.image: {_IMAGE}", _IMAGE),
    "image by no way": Refusal(hetzner_class(image={}), f"spec.image: {_IMAGE}", _IMAGE),
    "image of an architecture by no way": Refusal(
        hetzner_class(imageByArchitecture={"arm64": {}}), f"spec.imageByArchitecture.arm64: {_IMAGE}", _IMAGE
    ),
    "no text for cloud-init": Refusal(hetzner_class(userData={}), f"spec.userData: {_TEXT}", _TEXT),
    "variable of two values": Refusal(
        hetzner_class(userData={**_DATA, "variables": {"a": {}}}), f"spec.userData.variables.a: {_VALUE}", _VALUE
    ),
    "variable of a strange name": Refusal(
        hetzner_class(userData={**_DATA, "variables": {"a b": {"value": "x"}}}),
        f"spec.userData.variables: {_VARIABLE}",
        _VARIABLE,
    ),
    "text that is too long": Refusal(
        hetzner_class(userData={"template": "x" * 32769}),
        "spec.userData.template: must have at most 32768 characters",
        "may not be more than 32768",
        by_rule=False,
    ),
    "no address at all": Refusal(hetzner_class(enableIPv4=False, enableIPv6=False), f"spec: {_ADDRESS}", _ADDRESS),
    "server label of Hetzner's": Refusal(
        hetzner_class(serverLabels={"hetzner.cloud/a": "b"}), f"spec.serverLabels: {_RESERVED}", _RESERVED
    ),
    "pods as a reservation": Refusal(
        hetzner_class(kubelet={"kubeReserved": {"pods": "1"}}), f"spec.kubelet.kubeReserved: {_KEPT}", _KEPT
    ),
    "attach limit of no driver": Refusal(
        hetzner_class(attachLimits={"a driver": 1}), f"spec.attachLimits: {_DRIVER}", _DRIVER
    ),
    "attach limit below nothing": Refusal(
        hetzner_class(attachLimits={"csi.hetzner.cloud": -1}),
        "spec.attachLimits.csi.hetzner.cloud: must be at least 0, not -1",
        "should be greater than or equal to 0",
        by_rule=False,
    ),
    "no token": Refusal(
        hetzner_class(tokenSecretRef=None),
        "spec.tokenSecretRef: is missing",
        "spec.tokenSecretRef: Required value",
        by_rule=False,
    ),
    "firewall of no name": Refusal(hetzner_class(firewalls=[""]), f"spec.firewalls[0]: '' {_NAME}", _NAME),
    "the same network twice": Refusal(
        hetzner_class(networks=[{"name": "a"}, {"name": "a"}]),
        "spec.networks: each name may stand only once",
        "each name may stand only once",
    ),
    "subnet that is no range": Refusal(
        hetzner_class(networks=[{"name": "a", "subnetIPRange": "10.0.0.0"}]),
        f"spec.networks[0].subnetIPRange: '10.0.0.0' {_RANGE}",
        _RANGE,
    ),
}
