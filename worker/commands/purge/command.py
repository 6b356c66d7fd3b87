"""`growth purge`: everything that Growth has made for a cluster, shown first, then removed."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from activities.ports.cluster import NODE_POOLS
from activities.ports.errors import GrowthError
from activities.ports.ports import Ports
from worker.commands.lifecycles.running import UnderWay, Whereabouts, under_way
from worker.commands.purge.look import ROUND_WITHIN, ClusterContents, look
from worker.commands.purge.purge import Tell
from worker.commands.purge.purge import purge as carry_out
from worker.commands.purge.table import print_document, print_found
from worker.commands.shared.live_cluster import live_cluster
from worker.commands.shared.times import ago
from worker.errors import USAGE_ERROR, AtOnce, CommandError
from worker.runtime.cluster_uid import check_planner


async def purge(
    *,
    yes: Annotated[bool, Parameter(negative="")] = False,
    pools: Annotated[bool, Parameter(negative="")] = False,
    abandoned: Annotated[bool, Parameter(negative="")] = False,
    without_temporal: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[Literal["table", "json"], Parameter(name=["--output", "-o"])] = "table",
    kubeconfig: Path | None = None,
    context: str | None = None,
    where: Whereabouts | None = None,
) -> int:
    """Show everything that Growth has made for a cluster, with what it costs, and remove it after a yes.

    Servers, their Nodes and the pods on them, requests, removals, workflows. Pools and classes stay.

    Args:
        yes: remove it; without it, a terminal is asked, and everything else is a dry run.
        pools: delete pools and node classes too.
        abandoned: delete servers too that a person abandoned.
        without_temporal: leave workflows alone, for when Temporal is gone.
        output: tables for people, or JSON.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.
        where: which cluster, and its Temporal; --cluster has to be given.

    Returns:
        The exit code, 0.

    Raises:
        CommandError: not everything can be seen, it is not the cluster that is meant, a worker would buy again,
            or something does not go.
    """
    if where is None or where.cluster is None:
        raise CommandError("--cluster: name the cluster whose machines shall go, as its worker has it", USAGE_ERROR)
    try:
        async with AsyncExitStack() as stack:
            running = None if without_temporal else await _temporal(where)
            live = await stack.enter_async_context(live_cluster(kubeconfig, context, name=where.cluster, removes=True))
            await _run(live.ports, running, yes=yes, pools=pools, abandoned=abandoned, output=output)
    except CommandError as error:
        raise CommandError(str(error), error.code, at_once=True) from error
    return AtOnce()


async def _temporal(where: Whereabouts) -> UnderWay:
    try:
        return await under_way(where)
    except CommandError as error:
        raise CommandError(f"{error}; --without-temporal purges without it", error.code) from error


async def _run(ports: Ports, running: UnderWay | None, *, yes: bool, pools: bool, abandoned: bool, output: str) -> None:
    try:
        contents = await look(ports, abandoned=abandoned)
    except GrowthError as error:
        raise CommandError(f"nothing was removed, as not everything can be seen: {error}") from error
    if contents.others:
        others = ", ".join(sorted(contents.others))
        raise CommandError(
            f"nothing was removed: this Kubernetes cluster has machines of cluster {others}, "
            f"not of {contents.cluster}: name that one with --cluster, or the other Kubernetes cluster with --context"
        )
    if running is not None:
        check_planner(ports.identity, await running.planner_uid(), running.client.namespace)
    workflows = None if running is None else sorted(one.id for one in await running.everything())
    obstacle = "" if pools or not _has_pools(contents) else await _who_buys(ports, contents, running)
    if output == "table":
        print_found(contents, workflows, pools=pools)
    is_wanted = yes or (output == "table" and _is_wanted(contents.cluster, obstacle))
    if is_wanted and obstacle:
        raise CommandError(f"nothing was removed: {obstacle}")
    if is_wanted:
        await carry_out(ports, contents, running, pools=pools, abandoned=abandoned, tell=_teller(output))
    if output == "json":
        print_document(contents, workflows, pools=pools, obstacle=obstacle, done=is_wanted)
    elif is_wanted:
        print(f"Cluster {contents.cluster} is purged")
    else:
        print(f"\nNothing was removed: {obstacle or '--yes removes it'}")


def _has_pools(contents: ClusterContents) -> bool:
    return any(resource == NODE_POOLS for resource, _ in contents.pools)


async def _who_buys(ports: Ports, contents: ClusterContents, running: UnderWay | None) -> str:
    """Return that a worker is up, who would buy everything again, or nothing."""
    what_helps = "stop it and try again in two minutes, or let the pools go too with --pools"
    if running is not None:
        is_up = await running.has_worker()
        return f"a worker of cluster {contents.cluster} is up and would buy again: {what_helps}" if is_up else ""
    now, last = ports.now(), contents.last_round
    if last is None or now - last > ROUND_WITHIN:
        return ""
    return f"a worker would buy again: the last round was at {ago(last, now)}; {what_helps}"


def _is_wanted(cluster: str, obstacle: str) -> bool:
    """Ask a person, if one is there."""
    if obstacle or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("\nTo remove all of this, type the name of the cluster: ").strip() == cluster
    except EOFError:
        return False


def _teller(output: str) -> Tell:
    def tell(line: str) -> None:
        # Whoever reads JSON sees how far it has come all the same.
        print(line, file=sys.stderr if output == "json" else sys.stdout, flush=True)

    return tell
