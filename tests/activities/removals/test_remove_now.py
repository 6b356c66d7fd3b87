"""The taint remove-now in a removal's life: no cool-off, and what takes it back."""

from activities.ports.cluster import NODES
from tests.activities.lives import NAME, SCALE_DOWN, START, Life, at_each_write
from tests.activities.removals.drains import go_on
from tests.activities.rounds import Crash
from tests.tables import rows

KEPT = {"growth.dev/do-not-remove": "x"}


def remove_now(value="", effect="NoSchedule"):
    return {"key": "growth.dev/remove-now", "value": value, "effect": effect}


async def asked(*taints, status=None, ready=True, reason="RemoveNow", annotations=None, **scale_down):
    life = Life()
    await life.install(scaleDown={"softGrace": "10m"} | scale_down)
    await life.add_leaving(status, *taints, ready=ready, reason=reason)
    if annotations:
        await life.cluster.put(NODES, NAME, "/metadata/annotations", annotations)
    return life


@rows(
    ("taint", "scale_down"),
    {
        "in mode empty": (remove_now(), {}),
        "in mode none": (remove_now(), {"mode": "none"}),
        "in mode drain": (remove_now(), {"mode": "drain"}),
        "by another effect": (remove_now(effect="PreferNoSchedule"), {}),
        "that executes": (remove_now(effect="NoExecute"), {}),
        "not Ready": (remove_now(), {"ready": False}),
        "kept by a person, by force": (remove_now("force"), {"annotations": KEPT}),
    },
)
async def test_it_goes_without_a_cool_off(taint, scale_down):
    life = await asked(taint, **scale_down)
    assert await go_on(life) == ["taint_node", "CoolOff", "commit_removal"]
    # What a scheduler that has not seen the taint yet may still bind: planner.lifecycle.removal, TAINT_SETTLES_AFTER.
    assert (life.now() - START).total_seconds() == 5


@rows(
    ("life", "by"),
    {
        "the taint taken off before its own": ({"taints": []}, "Withdrawn"),
        "the taint taken off after": ({"taints": [SCALE_DOWN]}, "Withdrawn"),
        "kept by a person": ({"taints": [remove_now()], "annotations": KEPT}, "Person"),
        "kept by a person, another value": ({"taints": [remove_now("yes")], "annotations": KEPT}, "Person"),
        "by force, for another reason": (
            {"taints": [remove_now("force")], "annotations": KEPT, "reason": "Empty"},
            "Person",
        ),
    },
)
async def test_it_stays(life, by):
    life = await asked(*life.pop("taints"), **life)
    seen = await life.do("cancel_removal")
    assert seen.status.cancel.by == by
    assert (await go_on(life))[-1] == "finish_removal"
    assert not [taint for taint in await life.taints() if taint["key"] == "growth.dev/scale-down"]
    assert NAME in life.cloud.servers


async def test_a_pod_that_came_since_keeps_it():
    life = await asked(remove_now(), mode="drain")
    await life.run_pod()
    await go_on(life, seconds=60)
    assert await life.removal() is None
    assert NAME in life.cloud.servers


@at_each_write(4)
async def test_killed_at_any_write_it_goes(write, when):
    life = await asked(remove_now())
    setattr(life.cluster, when, len(life.cluster.writes) + write)
    try:
        await go_on(life)
    except Crash:
        life.restart()
    await go_on(life)
    assert (await life.removal())["status"]["phase"] == "Deprovisioning"
