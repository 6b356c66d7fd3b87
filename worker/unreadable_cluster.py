"""Why a cluster cannot be read, in one line: what many lists tell in one sentence each."""

import asyncio
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from activities.ports.cluster import Cluster, Resource
from activities.ports.errors import Forbidden, GrowthError, NotFound
from api.definitions import DEFINITIONS
from api.keys import GROUP

INSTALL: Final = "`growth crds | kubectl apply --server-side -f -`"
_CALL: Final = re.compile("^(list|watch) [a-z]+: ")
"""What the message of a failed list begins with."""


async def unlistable(cluster: Cluster, resources: Iterable[Resource]) -> dict[Resource, GrowthError]:
    """Return the error of each resource that cannot be listed, but for optional kinds and dispensable rights."""
    asked = tuple(resources)
    errors = await asyncio.gather(*(_list_error(cluster, resource) for resource in asked))
    return {resource: error for resource, error in zip(asked, errors, strict=True) if error is not None}


async def _list_error(cluster: Cluster, resource: Resource) -> GrowthError | None:
    try:
        await cluster.list(resource)
    except NotFound as error:
        return None if resource.is_optional else error
    except Forbidden as error:
        return None if resource.is_dispensable else error
    except GrowthError as error:
        return error
    return None


def trouble(failures: Mapping[Resource, GrowthError]) -> str:
    """Return the problem and its remedy, by the resources whose list failed; empty without any."""
    missing = {resource for resource, error in failures.items() if isinstance(error, NotFound)}
    forbidden = {resource: error for resource, error in failures.items() if isinstance(error, Forbidden)}
    rest = [error for resource, error in failures.items() if resource not in missing and resource not in forbidden]
    # The same sentence for each resource is told once.
    sentences = sorted({_CALL.sub("", str(error)) for error in rest})
    if missing:
        sentences.append(_not_there(missing))
    if forbidden:
        sentences.append(_forbidden(forbidden.values()))
    return "; ".join(sentences)


def _not_there(missing: set[Resource]) -> str:
    others = sorted(resource.plural for resource in missing if resource.group != GROUP)
    if others:
        return f"the server knows no {', '.join(others)}: is it a Kubernetes API server?"
    kinds = {resource.kind for resource in missing}
    if kinds == {definition.kind for definition in DEFINITIONS}:
        return f"Growth's kinds are not installed: {INSTALL} installs them"
    verb = "is" if len(kinds) == 1 else "are"
    return f"{' and '.join(sorted(kinds))} {verb} not installed: {INSTALL} installs what is missing"


def _forbidden(errors: Collection[Forbidden]) -> str:
    users = " and ".join(sorted({error.user for error in errors}))
    verbs = " or ".join(sorted({error.verb for error in errors}))
    resources = ", ".join(sorted({error.resource for error in errors}))
    advice = "; ".join(sorted({error.advice for error in errors}))
    return f"user {users} may not {verbs} {resources}: {advice}"
