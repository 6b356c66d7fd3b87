"""Plans as a planner would make them, for tests that need no planner."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from api.v1alpha1.node_request import Seat
from planner.model.plan import Plan, PlannedRemoval, PlannedRequest, PlanResult
from tests.activities.rounds import CLASS, START


def nothing(**parts):
    return Plan(result=PlanResult.NO_DEMANDS, **parts)


def bought(ordinal=0, **parts):
    standard = PlannedRequest(
        ordinal=ordinal,
        pool="default",
        pool_uid="pool-uid",
        server_type="cx22",
        location="fsn1",
        class_ref=CLASS,
        price_per_hour=Decimal("0.0066"),
        seats=(Seat(namespace="shop", name=f"web-{ordinal}", uid=f"u-{ordinal}", owner="rs", pod_class="k"),),
        reserve=True,
        why="Cheapest machine for 1 pod",
    )
    return replace(standard, **parts)


def begun(name, **parts):
    standard = PlannedRemoval(
        node=name,
        server=name,
        provider_id=f"kwok://{name}",
        pool="default",
        server_type="cx32",
        location="fsn1",
        class_ref=CLASS,
        reason="Empty",
        why="No pods",
        at=START + timedelta(minutes=1),
    )
    return replace(standard, **parts)


def buying(count):
    return Plan(
        result=PlanResult.ALL_PLACED,
        requests=tuple(bought(n) for n in range(count)),
        cost_per_hour=Decimal("0.0066") * count,
        currency="EUR",
    )
