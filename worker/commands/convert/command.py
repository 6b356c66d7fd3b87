"""`growth convert`: the settings of another autoscaler as pools and node classes of Growth, without a cluster."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal

from cyclopts import Parameter
from pydantic import ValidationError

from api.model import UnreadableError, read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from worker.commands.convert.inputs import PeerDocument, read_documents
from worker.commands.convert.peers.cluster_autoscaler import convert_cluster_autoscaler
from worker.commands.convert.peers.escalator import convert_escalator
from worker.commands.convert.peers.karpenter import convert_karpenter
from worker.commands.convert.peers.vpsie import convert_vpsie
from worker.commands.convert.pools import ClassChoice
from worker.commands.convert.writing import Conversion, ConvertedObject, has_unknown, listing, text_of
from worker.commands.plan.files import STDIN
from worker.errors import FAILED, USAGE_ERROR, CommandError
from worker.printing import shown_line

Peer = Literal["escalator", "vpsie", "cluster-autoscaler", "karpenter"]
CONVERTERS: Final[Mapping[Peer, Callable[[Sequence[PeerDocument], ClassChoice], Conversion]]] = {
    "escalator": convert_escalator,
    "vpsie": convert_vpsie,
    "cluster-autoscaler": convert_cluster_autoscaler,
    "karpenter": convert_karpenter,
}
_MODELS: Final = {"NodePool": NodePool, "HetznerNodeClass": HetznerNodeClass}


def convert(
    peer: Annotated[Peer, Parameter(name="PEER")],
    *files: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=True)],
    check: Annotated[bool, Parameter(name="--check", negative="")] = False,
    node_class: Annotated[str | None, Parameter(name="--node-class")] = None,
) -> int:
    """Print pools and node classes that do what another autoscaler's settings say.

    What comes out can be read by `growth plan -f` and applied. A comment above each object tells of each setting that
    has no equal, and why; none shows a value of it.

    Args:
        peer: escalator: its node groups, as YAML or in a ConfigMap, and its Deployment; vpsie: NodeGroups and the
            AutoscalerConfig; cluster-autoscaler: its Deployment, and the ConfigMap of its priority expander; karpenter:
            NodePools of v1 and their node classes.
        files: YAML or JSON; several are one configuration; - is standard input.
        check: list only the settings that have no equal here.
        node_class: KIND/NAME, such as KwokNodeClass/default: the class of all pools; without it, a HetznerNodeClass to
            fill in is written for each that they need.

    Returns:
        The exit code: 0; 1 with --check if a setting is of no name that is known.

    Raises:
        CommandError: the input is bad; one line that names file, key and reason.
    """
    if not files:
        raise CommandError(f"name the files of {peer}, or {STDIN} for standard input", USAGE_ERROR)
    if files.count(STDIN) > 1:
        raise CommandError("standard input can be read only once", USAGE_ERROR)
    choice = ClassChoice(_class(node_class))
    conversion = CONVERTERS[peer](read_documents(files), choice)
    for each in conversion.objects:
        _check(each)
    for name in conversion.passed_over:
        print(shown_line(f"growth: passed over, as it is none of {peer}'s settings: {name}"), file=sys.stderr)
    if check:
        for line in listing(conversion):
            print(line)
        return FAILED if has_unknown(conversion) else 0
    print(text_of(conversion), end="")
    return 0


def _class(text: str | None) -> ClassRef | None:
    if text is None:
        return None
    kind, _, name = text.partition("/")
    try:
        return ClassRef(kind=kind, name=name)
    except ValidationError:
        raise CommandError(
            f"--node-class: {text!r} must be KIND/NAME, such as KwokNodeClass/default", USAGE_ERROR
        ) from None


def _check(converted: ConvertedObject) -> None:
    """Check that the object can be read.

    Raises:
        CommandError: a value is beyond what its field takes.
    """
    try:
        read(_MODELS[converted.item["kind"]], converted.item)
    except UnreadableError as error:
        reason = shown_line(f"{converted.file}: {converted.source}: it would become a {error}")
        raise CommandError(reason, USAGE_ERROR) from None
