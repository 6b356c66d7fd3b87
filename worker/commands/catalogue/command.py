"""`growth catalogue`: what can be bought, and at what price, before anything is. It only reads, and calls no cloud."""

import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter

from activities.ports.catalogue import CatalogueRow
from activities.ports.cluster import NODE_POOLS, Object
from activities.ports.provider_kind import NodeClassModel
from activities.providers.kinds import node_classes, provider_kinds
from api.model import ModelT, UnreadableError, read
from api.v1alpha1.node_pool import NodePool
from worker.commands.catalogue.catalogue import Catalogue, catalogue_of
from worker.commands.catalogue.document import catalogue_document
from worker.commands.catalogue.table import print_catalogues
from worker.commands.plan.files import STDIN, models, read_objects
from worker.commands.shared.node_classes import ref_of, unread
from worker.commands.shared.tables import names
from worker.errors import FAILED, USAGE_ERROR, CommandError
from worker.printing import shown_line


@dataclass(frozen=True, slots=True)
class CatalogueQuery:
    """What of the catalogues is shown; None is all of it."""

    node_class: str | None = None
    """Name, or kind/name."""
    location: str | None = None
    server_type: str | None = None


def catalogue(
    *further: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=False)],
    node_class: Annotated[str | None, Parameter(name="--class")] = None,
    location: str | None = None,
    server_type: Annotated[str | None, Parameter(name="--type")] = None,
    file: Annotated[tuple[str, ...], Parameter(name=["--file", "-f"], allow_leading_hyphen=True, negative="")] = (),
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
    kubeconfig: Path | None = None,
    context: str | None = None,
) -> int:
    """Print the server types and locations of the node classes, with prices, the cheapest first.

    Prices of a cloud are those that Growth last read of the account, net, and with a public IPv4 address where the
    class gives one to its servers.

    Args:
        further: more files, so that a pattern of the shell may follow -f.
        node_class: NAME or KIND/NAME of the one class to tell of.
        location: tell of this location only.
        server_type: tell of this server type only.
        file: YAML or JSON with node classes, and pools if they are wanted, as `kubectl get -o yaml` prints it; may be
            repeated; - is standard input. Without a file, the live cluster is read.
        output: a table for people, or data.
        kubeconfig: kubeconfig file; without one as kubectl finds it, in a pod without any its service account.
        context: context in the kubeconfig.

    Returns:
        The exit code, 0.

    Raises:
        CommandError: there is nothing of what was asked for, or it cannot be read.
    """
    files = (*file, *further)
    if files.count(STDIN) > 1:
        raise CommandError("standard input can be read only once", USAGE_ERROR)
    wanted = CatalogueQuery(node_class, location, server_type)
    now = datetime.now(UTC)
    classes, pools = _of_files(files, now) if files else asyncio.run(_of_cluster(kubeconfig, context))
    if not classes:
        raise CommandError(_no_class(is_live=not files), FAILED if not files else USAGE_ERROR)
    show(chosen(classes, pools, wanted, now), now, output)
    return 0


def show(catalogues: Sequence[Catalogue], now: datetime, output: str) -> None:
    """Print the catalogues as a table, or as JSON or YAML."""
    if output == "table":
        print_catalogues(catalogues, now)
        return
    data = catalogue_document(catalogues)
    print(json.dumps(data, indent=2) + "\n" if output == "json" else yaml.safe_dump(data, sort_keys=False), end="")


def chosen(
    classes: Iterable[NodeClassModel], pools: Sequence[NodePool], wanted: CatalogueQuery, now: datetime
) -> list[Catalogue]:
    """Return the catalogues of the classes that are wanted, each with the rows that are.

    Raises:
        CommandError: there is no such class, or no row is left; tells what there is.
    """
    all_classes = list(classes)
    wanted_classes = [one for one in all_classes if wanted.node_class in (None, one.metadata.name, str(ref_of(one)))]
    if not wanted_classes:
        known = names([str(ref_of(one)) for one in all_classes])
        raise CommandError(f"--class {wanted.node_class}: there is no such class: there are {known}", USAGE_ERROR)
    whole = [catalogue_of(one, pools, now) for one in wanted_classes]
    selected = [replace(each, rows=tuple(row for row in each.rows if _is_wanted(row, wanted))) for each in whole]
    if wanted.location is None and wanted.server_type is None:
        return selected
    selected = [each for each in selected if each.rows]
    if not selected:
        raise CommandError(_nothing(whole, wanted), USAGE_ERROR)
    return selected


def _is_wanted(row: CatalogueRow, wanted: CatalogueQuery) -> bool:
    is_here = wanted.location in (None, row.location)
    return is_here and (wanted.server_type is None or wanted.server_type.lower() == row.server_type.lower())


def _nothing(whole: Iterable[Catalogue], wanted: CatalogueQuery) -> str:
    """Return why no row is left, by what there is instead."""
    rows = [row for each in whole for row in each.rows]
    of_type = [row for row in rows if _is_wanted(row, replace(wanted, location=None))]
    options = [("--type", wanted.server_type), ("--location", wanted.location)]
    asked = " ".join(f"{option} {value}" for option, value in options if value is not None)
    if of_type:
        where = ", ".join(sorted({row.location for row in of_type}))
        return f"{asked}: {'nothing is' if wanted.server_type is None else 'it is not'} offered there, but in {where}"
    for kind in provider_kinds():
        refused = None if wanted.server_type is None else kind.refusal(wanted.server_type)
        if refused is not None:
            return f"{asked}: {refused}"
    return f"{asked}: no class offers it; `growth catalogue` without it tells of all that there is"


def _no_class(*, is_live: bool) -> str:
    if not is_live:
        plurals = ",".join(each.plural for each in node_classes())
        return f"no file holds a node class: `kubectl get {plurals} -o yaml` prints them"
    kinds = " and ".join(f"`kubectl explain {each.plural}.{each.group}.spec`" for each in node_classes())
    return f"there is no node class, so nothing can be bought: {kinds} tell what one needs"


def _of_files(files: Sequence[str], now: datetime) -> tuple[list[NodeClassModel], tuple[NodePool, ...]]:
    objects = read_objects(files)
    classes = [item for kind in provider_kinds() for item in models(objects, kind.model)]
    for line in unread(classes, now):
        print(shown_line(f"growth: {line}"), file=sys.stderr)
    return classes, models(objects, NodePool)


async def _of_cluster(
    kubeconfig: Path | None, context: str | None
) -> tuple[list[NodeClassModel], tuple[NodePool, ...]]:
    # It loads the clients, which files do without.
    from worker.commands.shared.live_cluster import live_cluster  # noqa: PLC0415

    async with live_cluster(kubeconfig, context) as cluster:
        pools = await cluster.objects(NODE_POOLS)
        lists = [(kind.model, await cluster.objects(kind.node_classes)) for kind in provider_kinds()]
    classes: list[NodeClassModel] = []
    for model, items in lists:
        classes += _readable(model, items)
    return classes, tuple(_readable(NodePool, pools))


def _readable(model: type[ModelT], items: Iterable[Object]) -> list[ModelT]:
    """Return the objects that can be read, and tell of the others on standard error."""
    models: list[ModelT] = []
    for item in items:
        try:
            models.append(read(model, item))
        except UnreadableError as error:
            print(shown_line(f"growth: left out: {error}"), file=sys.stderr)
    return models
