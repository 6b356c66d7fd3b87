"""`growth pause` and `growth resume`: pools buy nothing and begin no removal for a while; what is under way ends.

They write annotations, which no tool that applies files from Git takes back.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from activities.kube.json_patch import patch_if_same, set_field
from activities.ports.cluster import NODE_POOLS, Object, PatchOp
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from api.duration import parse_duration
from api.keys import ANNOTATION_PAUSED, ANNOTATION_PAUSED_UNTIL
from api.meta import format_timestamp
from worker.commands.shared.live_cluster import live_cluster
from worker.errors import FAILED, USAGE_ERROR, CommandError

_NO_REASON = "true"


async def pause(
    *pools: str,
    reason: str = "",
    for_: Annotated[str | None, Parameter(name="--for")] = None,
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> int:
    """Pause pools, or all: nothing is bought, and no removal begins. What is under way ends.

    Args:
        pools: their names; without any, all pools.
        reason: why, for whoever reads `growth status`.
        for_: how long, such as 2h; without it, until `growth resume`.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.

    Returns:
        The exit code, 0.

    Raises:
        CommandError: a pool does not exist, or cannot be written; the others are paused.
    """
    async with live_cluster(kubeconfig, context) as live:
        until = None if for_ is None else format_timestamp((live.ports.now() + _duration(for_)).replace(microsecond=0))
        text = " ".join(reason.split()) or _NO_REASON
        names = await annotate(live.ports, await live.objects(NODE_POOLS), pools, paused=text, until=until)
        when = "until `growth resume`" if until is None else f"until {until}"
        print(f"paused {when}: {', '.join(names)}" if names else "there is no pool to pause")
    return 0


async def resume(*pools: str, kubeconfig: Path | None = None, context: str | None = None) -> int:
    """End the pause of pools, or of all.

    Args:
        pools: their names; without any, all pools.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.

    Returns:
        The exit code, 0.

    Raises:
        CommandError: a pool does not exist, cannot be written, or is paused by its spec.
    """
    async with live_cluster(kubeconfig, context) as live:
        existing = await live.objects(NODE_POOLS)
        names = await annotate(live.ports, existing, pools, paused=None, until=None)
        print(f"resumed: {', '.join(names)}" if names else "there is no pool to resume")
    by_spec = [each["metadata"]["name"] for each in existing if each["spec"].get("paused") is True]
    left = [name for name in by_spec if name in names]
    if left:
        raise CommandError(f"still paused by spec.paused, which whoever wrote it takes back: {', '.join(left)}", FAILED)
    return 0


async def annotate(
    ports: Ports, existing: Sequence[Object], wanted: Sequence[str], *, paused: str | None, until: str | None
) -> list[str]:
    """Write the annotations of a pause, or take them off, and return the names of the pools.

    Args:
        ports: of the cluster.
        existing: all pools.
        wanted: names; without any, all.
        paused: the reason; None ends the pause.
        until: when it ends by itself.

    Raises:
        CommandError: one does not exist, before anything is written; or some could not be written.
    """
    by_name = {pool["metadata"]["name"]: pool for pool in existing}
    unknown = [name for name in wanted if name not in by_name]
    if unknown:
        known = f"there are {', '.join(sorted(by_name))}" if by_name else "there is none"
        raise CommandError(f"no pool {' or '.join(unknown)}: {known}", USAGE_ERROR)
    annotations = {ANNOTATION_PAUSED: paused, ANNOTATION_PAUSED_UNTIL: until}
    troubles: list[str] = []
    names = list(dict.fromkeys(wanted)) or sorted(by_name)
    for name in names:
        try:
            await _write(ports, by_name[name], annotations)
        except GrowthError as error:
            troubles.append(f"pool {name}: {error}")
    if troubles:
        raise CommandError("\n".join(troubles), FAILED)
    return names


async def _write(ports: Ports, pool: Object, annotations: Mapping[str, str | None]) -> None:
    def operations(read: Object) -> list[PatchOp]:
        changed = {**(read["metadata"].get("annotations") or {}), **annotations}
        annotated = {key: value for key, value in changed.items() if value is not None}
        # On condition of the version that was read, so that no annotation of others is lost.
        return set_field(read, ("metadata", "annotations"), annotated or None)

    # Whatever else of the pool changes meanwhile, it is to be paused.
    await patch_if_same(ports.cluster, NODE_POOLS, pool, operations, lambda _live: True)


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise CommandError(f"--for: {error}", USAGE_ERROR) from error
