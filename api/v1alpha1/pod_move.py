"""A pod of a machine that goes, and the machine that has room for it."""

from typing import Annotated, Final

from pydantic import Field

from api.model import Model
from api.rules import Text

MOVES_AT_MOST: Final = 500
"""As many pods as a kubelet is ever set to run, so that each pod of a machine may be named."""
_POD: Final = Text(
    pattern="^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
    longest=317,
    form="the namespace of the pod, a slash and its name",
)
_NODE: Final = Text(
    pattern="^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$", longest=253, form="the name of a Node, as Kubernetes allows it"
)


class PodMove(Model):
    """A pod that leaves the machine for room on another one that exists."""

    pod: Annotated[str, _POD]
    """The pod, as namespace/name."""
    node: Annotated[str, _NODE]
    """The Node that has room for it: rounds count that room as taken until the pod, or the removal, is gone."""
    owner: str | None = Field(default=None, max_length=64)
    """Uid of the pod's controller, whose next pod takes the room. Without it, the pod has no controller."""
