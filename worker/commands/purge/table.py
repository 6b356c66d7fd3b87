"""What a purge would remove, as tables for people and as JSON for programs.

    apiVersion      growth.dev/v1alpha1
    cluster         its name
    done            whether it was removed
    obstacle        why it would be refused, or null
    pricePerHour    of the servers that go, by currency
    servers[]       name, serverType, location, state, created, pricePerHour (null: not known), currency, stays
    nodes[]         name, pods, stays
    requests[], removals[], workflows[] (null: Temporal was not asked), pools[], nodeClasses[], own[]
                    names, of what is removed; pools and classes with --pools only

`stays` is null for what goes, else why it stays.
"""

import json
from typing import Any

from rich.console import Console
from rich.text import Text

from activities.objects.kinds import STORED_KINDS
from activities.ports.cluster import NODE_POOLS, Resource
from api.keys import API_VERSION
from api.meta import format_timestamp
from api.quantity import format_price
from worker.commands.purge.look import ClusterContents
from worker.commands.shared.tables import count, money, names, print_anywhere, print_section, table


def print_found(contents: ClusterContents, workflows: list[str] | None, *, pools: bool) -> None:
    """Print what there is and what becomes of it."""
    print_anywhere(Console(highlight=False, markup=False), lambda out: _draw(out, contents, workflows, pools=pools))


def print_document(
    contents: ClusterContents, workflows: list[str] | None, *, pools: bool, obstacle: str, done: bool
) -> None:
    """Print the same as JSON."""
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "cluster": contents.cluster,
        "done": done,
        "obstacle": obstacle or None,
        "pricePerHour": {currency: format_price(price) for currency, price in contents.price_per_hour().items()},
        "servers": [
            {
                "name": server.fact.name,
                "serverType": server.fact.server_type,
                "location": server.fact.location,
                "state": server.state,
                "created": format_timestamp(server.fact.created_at),
                "pricePerHour": None if server.price is None else format_price(server.price),
                "currency": server.currency or None,
                "stays": server.stays or None,
            }
            for server in contents.servers
        ],
        "nodes": [{"name": node.fact.name, "pods": node.pods, "stays": node.stays or None} for node in contents.nodes],
        **{f"{stored.lifecycle.word}s": _names(contents, stored.resource) for stored in STORED_KINDS},
        "workflows": workflows,
        "pools": [item["metadata"]["name"] for resource, item in contents.pools if pools and resource == NODE_POOLS],
        "nodeClasses": [
            f"{resource.kind}/{item['metadata']['name']}"
            for resource, item in contents.pools
            if pools and resource != NODE_POOLS
        ],
        "own": [f"{resource.kind}/{name}" for resource, name in contents.own],
    }
    print(json.dumps(document, indent=2))


def _draw(out: Console, contents: ClusterContents, workflows: list[str] | None, *, pools: bool) -> None:
    going = [server for server in contents.servers if not server.stays]
    cost = " + ".join(f"{money(price)} {currency}" for currency, price in sorted(contents.price_per_hour().items()))
    line = f"Cluster {contents.cluster}: {count(len(going), 'server')}"
    out.print(Text(line + (f" at {cost} per hour" if cost else ""), style="bold"), soft_wrap=True)
    if contents.servers:
        rows = table("name", "type", "location", "state", "created (UTC)", "per hour", "what becomes of it")
        for server in contents.servers:
            fact = server.fact
            price = "?" if server.price is None else money(server.price)
            created = f"{fact.created_at:%Y-%m-%d %H:%M:%S}"
            fate = f"stays: {server.stays}" if server.stays else "deleted"
            rows.add_row(fact.name, fact.server_type, fact.location, server.state, created, price, fate)
        print_section(out, "Servers", rows)
    if contents.nodes:
        rows = table("name", "pods on it", "what becomes of it")
        for node in contents.nodes:
            fate = f"stays: {node.stays}" if node.stays else "deleted, with its pods"
            rows.add_row(node.fact.name, str(node.pods), fate)
        print_section(out, "Nodes", rows)
    rows = table("what", "", "names", "what becomes of it")
    for title, kinds, fate in _rest(contents, workflows, pools=pools):
        rows.add_row(title, "?" if kinds is None else str(len(kinds)), names(kinds or []), fate)
    print_section(out, "Objects and workflows", rows)


def _rest(
    contents: ClusterContents, workflows: list[str] | None, *, pools: bool
) -> list[tuple[str, list[str] | None, str]]:
    of_pools = "deleted" if pools else "stay: --pools deletes them too"
    classes = [f"{r.kind}/{item['metadata']['name']}" for r, item in contents.pools if r != NODE_POOLS]
    return [
        ("workflows", workflows, "left alone: Temporal is not asked" if workflows is None else "ended"),
        *((f"{stored.lifecycle.word}s", _names(contents, stored.resource), "deleted") for stored in STORED_KINDS),
        ("own objects", [f"{resource.kind}/{name}" for resource, name in contents.own], "deleted"),
        ("pools", [item["metadata"]["name"] for r, item in contents.pools if r == NODE_POOLS], of_pools),
        ("node classes", classes, of_pools),
    ]


def _names(contents: ClusterContents, of: Resource) -> list[str]:
    return [item["metadata"]["name"] for resource, item in contents.objects if resource == of]
