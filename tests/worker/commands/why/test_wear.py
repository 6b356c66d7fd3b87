"""What `growth why node` says of age, drift and bad conditions, and of what keeps a node that is due."""

from tests.builders import before, node_pool
from tests.planner.policies.triggers.fleet import aged, with_pods
from tests.tables import rows
from tests.worker.looking import sight
from worker.commands.why.command import NODE, lines_about

AT_MIN = ", while the pool is at its minimum"
OLD_HASH = {"growth.dev/template-hash": "v1:0123456789abcdef"}
DEADLOCK = {"type": "KernelDeadlock", "status": "True", "lastTransitionTime": before(minutes=5)}
REPAIR = {"mode": "empty", "repair": {"conditions": [{"type": "KernelDeadlock", "status": "True", "after": "10m"}]}}


def told(given, name="n"):
    return lines_about(NODE, name, sight(given))


@rows(
    ("node", "spec", "line"),
    {
        "an age to come": (
            aged("n", days=1),
            {"rotation": {"maxNodeAge": "240h"}},
            "It is here since 2026-02-28 12:00:00 (for 24h): to be replaced at 2026-03-10 03:27:30 (in 207h27m30s).",
        ),
        "an age that is over": (
            aged("n", days=30),
            {"rotation": {"maxNodeAge": "240h", "onlyAtMin": True}, "limits": {"min": 1}},
            f"It is here since 2026-01-30 12:00:00 (for 720h): old enough to be replaced{AT_MIN}.",
        ),
        "drift": (
            aged("n", annotations=OLD_HASH),
            {},
            "It has drifted: its class or the pool's template has changed since it was bought.",
        ),
        "a condition to come": (
            aged("n", conditions=[DEADLOCK]),
            {"scaleDown": REPAIR},
            "It says KernelDeadlock=True since 11:55:00 (for 5m); it is replaced for that at 12:05:00 (in 5m).",
        ),
    },
)
def test_what_is_said(node, spec, line):
    assert line in told(with_pods(node, **spec))


def test_what_keeps_it():
    given = with_pods(aged("n", annotations=OLD_HASH))
    given.pods[0]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n"}
    (line,) = (line for line in told(given) if line.startswith("It would go"))
    assert line.startswith("It would go now (Drift), but default/on-n has no other place: ")


def test_one_that_goes_in_the_next_round():
    lines = told(with_pods(aged("n", annotations=OLD_HASH)))
    assert any(
        line.startswith("The next round begins its removal (Drift): Its class or the pool's template has changed")
        for line in lines
    )


def test_nothing_is_said_where_nothing_is_due():
    given = with_pods(aged("n"))
    given.pools = [node_pool()]
    assert not [
        line for line in told(given) if line.startswith(("It has drifted", "It is here", "It says", "It would"))
    ]
