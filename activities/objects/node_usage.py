"""Samples of usage from metrics.k8s.io, which cannot be watched: listed again and again while some pool asks for them.

Each worker keeps its own, as any of them may carry out the next round.
"""

from collections.abc import Iterable
from typing import Final

from activities.ports.cluster import NODE_METRICS, NODE_POOLS, NODES, Object
from activities.ports.errors import Forbidden, GrowthError, NotFound
from activities.ports.ports import Ports
from planner.model.usage import UsageSample
from planner.parsing.json_part import FieldError
from planner.parsing.node_metrics import read_usage

NOT_SERVED: Final = "the API server has no metrics.k8s.io: is metrics-server installed?"


async def sample_usage(ports: Ports) -> str:
    """Keep what Nodes use now, where a pool has `scaleDown.node.basis: usage`; else nothing is asked for.

    Return why that is not known, for people, or an empty text.
    """
    usage = ports.usage
    try:
        pools = (await ports.reader.list(NODE_POOLS)).items
        if not any(_is_by_usage(pool) for pool in pools):
            usage.take((), ())
            return ""
        answer = await ports.cluster.list(NODE_METRICS)
        nodes = (await ports.reader.list(NODES)).items
    except NotFound:
        return usage.fail(NOT_SERVED)
    except Forbidden as error:
        return usage.fail(f"it may not be read: {error}")
    except GrowthError as error:
        return usage.fail(f"metrics.k8s.io does not answer: {error}")
    samples, unreadable = _read(answer.items)
    usage.take(samples, (node["metadata"]["name"] for node in nodes))
    return usage.fail(unreadable[0]) if unreadable and not samples else "; ".join(unreadable[:1])


def _read(items: Iterable[Object]) -> tuple[list[tuple[str, UsageSample]], list[str]]:
    """Return the samples, and what is wrong with those that cannot be read: each is left out alone."""
    samples: list[tuple[str, UsageSample]] = []
    unreadable: list[str] = []
    for item in items:
        try:
            samples.append(read_usage(item))
        except FieldError as error:
            name = item.get("metadata", {}).get("name", "without a name")
            unreadable.append(f"NodeMetrics {name}: {error}")
    return samples, unreadable


def _is_by_usage(pool: Object) -> bool:
    node = ((pool.get("spec") or {}).get("scaleDown") or {}).get("node") or {}
    return node.get("basis") == "usage"
