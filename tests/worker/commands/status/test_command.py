"""`growth status`: what it says of a scene, on a terminal and in a pipe, and that it writes nothing."""

import asyncio
from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console

from activities.kube.client import KubeCluster
from activities.ports.errors import Unreachable
from tests.builders import after, before, kwok_node_class, node, node_pool, node_removal_request, node_request, pod
from tests.planner.scenes import Scene, seat
from tests.worker.looking import LookedAt, growth, sight
from worker.commands.shared.live_cluster import live_cluster
from worker.commands.status import command as status_command
from worker.commands.status.table import print_status

COMING = "default-0a1b2c3d4e"
PARKED = "The server still exists after 5 delete calls: transient: no answer"


def busy() -> Scene:
    """A machine of each state, a pod of each fate."""
    waits = pod("web-1")
    return Scene(
        pods=[waits, pod("big-1", "60"), pod("web-2", node="at-work"), *(pod(f"new-{i}", "7") for i in range(2))],
        nodes=[
            node("at-work"),
            node("idle", annotations={"growth.dev/idle-since": before(minutes=3)}),
            node("cooling", taints=[{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]),
            node("parked"),
            node("by-hand", pool=None, taints=[{"key": "own", "effect": "NoSchedule"}]),
        ],
        pools=[node_pool(limits={"max": 9}), node_pool("typeless", types=("cx99",))],
        classes=[
            kwok_node_class(
                unavailable=[
                    {
                        "serverType": "cx32",
                        "location": "fsn1",
                        "failures": 2,
                        "lastFailureAt": before(minutes=1),
                        "until": after(minutes=3),
                    }
                ]
            )
        ],
        requests=[
            node_request(
                COMING,
                seats=[seat(waits)],
                phase="Provisioning",
                createAttemptAt=before(seconds=5),
                attempts=1,
                provisioningDeadline=after(minutes=9),
            )
        ],
        removals=[
            node_removal_request("cooling", scaleDownAt=after(seconds=40), taintedAt=before(seconds=20)),
            node_removal_request(
                "parked",
                phase="CouldNotRemove",
                retryAt=after(hours=4),
                removalAttempts=5,
                reason="RemovalFailed",
                message=PARKED,
            ),
        ],
    )


def drawn(scene: Scene, **options) -> str:
    console = Console(file=StringIO(), highlight=False, markup=False, **options)
    print_status(sight(scene), console)
    return console.file.getvalue()


def row(text: str, *beginning: str) -> list[str]:
    """Return the words of the one line that begins with these words."""
    found = [words for line in text.splitlines() if (words := line.split())[: len(beginning)] == list(beginning)]
    assert len(found) == 1, (beginning, found)
    return found[0]


def test_limits_in_cores_memory_and_money_stand_beside_the_max():
    limits = {"max": 9, "cpu": 32, "memory": "64Gi", "pricePerHour": "0.25"}
    assert "9, 32 cpu, 64Gi, 0.25 per hour" in drawn(Scene(pools=[node_pool(limits=limits)]), width=200)


def test_pools_demand_and_machines_are_told():
    text = drawn(busy())
    # 5 machines of type cx22 at 0.0066.
    assert text.startswith(
        "5 machines: 2 ready, 1 coming, 2 going  0.0330 EUR per hour (24.09 a month)  2026-03-01 12:00:00 UTC\n"
    )
    assert row(text, "default")[1:] == ["5", "2", "1", "2", "9", "0.0330", "24.09", "-"]
    assert "UnknownServerType: KwokNodeClass/default has none of these server types: cx99" in text
    assert (
        "4 pods that the scheduler cannot place: 1 onto machines that are coming, "
        "2 onto 2 machines that the next round buys, 1 without a place\nWithout a place: 1 TooLarge\n"
    ) in text
    assert "large enough for cpu 60; cx42: cpu short by 52" in text
    assert " ".join(row(text, COMING, "default")[2:]) == "cx22 fsn1 boots, due by 12:09:00 0 0.0066 4.82"
    assert " ".join(row(text, "at-work")[2:]) == "cx22 fsn1 Ready 1 0.0066 4.82"
    assert " ".join(row(text, "idle")[2:]) == "cx22 fsn1 Ready, idle for 3m 0 0.0066 4.82"
    assert " ".join(row(text, "cooling")[4:]) == "cools off until 12:00:40, then goes 0 0.0066 4.82"
    assert " ".join(row(text, "parked")[4:]) == "could not be deleted: parked, tried again at 16:00:00 0 0.0066 4.82"
    assert "1 node that Growth did not buy and never removes" in text
    assert "by-hand" not in text


def test_a_pause_is_told_first():
    pool = node_pool()
    pool["metadata"]["annotations"] = {"growth.dev/paused": "the bill", "growth.dev/paused-until": after(hours=1)}
    text = drawn(Scene(pools=[pool, node_pool("other")]))
    assert text.startswith(
        "Pool default is paused until 2026-03-01T13:00:00Z, so it buys nothing and no removal begins: the bill\n"
        "0 machines"
    )


def test_machines_are_told_with_what_was_paid_for_them():
    paid = {"growth.dev/price-per-hour": "0.0047", "growth.dev/currency": "EUR"}
    made = busy()
    made.nodes[0]["metadata"]["annotations"] = paid
    text = drawn(made)
    assert " ".join(row(text, "at-work")[2:]) == "cx22 fsn1 Ready 1 0.0047, 0.0066 today 3.43"
    # 1 machine at 0.0047 and 4 at 0.0066.
    assert "  0.0311 EUR per hour (22.70 a month)  " in text.splitlines()[0]


def test_what_is_awaited_is_told_with_its_deadline_and_what_a_person_may_do():
    text = drawn(busy())
    assert row(text, "request", COMING)[2:5] == ["12:09:00", "(in", "9m)"]
    assert row(text, "growth", "requests") == ["growth", "requests", "cancel", COMING]
    cooling = row(text, "removal", "cooling")
    assert cooling[2:5] == ["12:00:40", "(in", "40s)"]
    assert "growth removals cancel cooling\n" in text
    assert row(text, "removal", "parked")[2:5] == ["16:00:00", "(in", "4h)"]
    for verb in ("retry", "skip", "abandon"):
        assert f"growth removals {verb} parked\n" in text
    assert row(text, "offering", "cx32", "fsn1")[3:6] == ["12:03:00", "(in", "3m)"]


def test_many_alike_are_told_as_one():
    coming = [
        node_request(f"default-{i}", phase="Provisioning", provisioningDeadline=after(minutes=i)) for i in (5, 4, 3, 2)
    ]
    text = drawn(Scene(pools=[node_pool()], classes=[kwok_node_class()], requests=coming))
    line = row(text, "request")
    assert " ".join(line[1:9]) == "default-5, default-4, default-3 and 1 more 12:02:00 (in 2m)".replace(
        "(in 2m)", "(in"
    )
    assert "growth requests cancel NAME" in text


def test_few_alike_are_told_each_with_its_name():
    cooling = [
        node_removal_request(name, scaleDownAt=after(seconds=9), taintedAt=before(seconds=20)) for name in ("a", "b")
    ]
    taints = [{"key": "growth.dev/scale-down", "value": "1", "effect": "NoSchedule"}]
    nodes = [node(name, taints=taints) for name in ("a", "b")]
    text = drawn(Scene(pools=[node_pool()], classes=[kwok_node_class()], nodes=nodes, removals=cooling))
    assert "growth removals cancel a\n" in text
    assert "growth removals cancel b\n" in text


def test_a_record_of_a_machine_that_is_there_is_not_awaited():
    ready = node_request(
        "m", phase="Ready", releasedAt=before(minutes=1), readyAt=before(minutes=2), expiresAt=after(minutes=9)
    )
    text = drawn(Scene(pools=[node_pool()], classes=[kwok_node_class()], nodes=[node("m")], requests=[ready]))
    assert "Awaited" not in text
    assert row(text, "m")[4] == "Ready"


def test_a_machine_that_is_kept_for_its_pods_is_counted_as_such():
    waits = pod("web")
    ready = node_request(
        "m", seats=[seat(waits)], phase="Ready", readyAt=before(seconds=5), releaseBy=after(seconds=55)
    )
    text = drawn(
        Scene(pods=[waits], pools=[node_pool()], classes=[kwok_node_class()], nodes=[node("m")], requests=[ready])
    )
    assert text.startswith("1 machine: 0 ready, 0 coming, 0 going, 1 kept for their pods or not Ready  0.0066 EUR")
    assert " ".join(row(text, "m")[4:9]) == "Ready, kept for 1 pod"


def test_nothing_at_all():
    text = drawn(Scene())
    assert text.startswith("0 machines: 0 ready, 0 coming, 0 going  2026-03-01 12:00:00 UTC\n")
    assert "No pool: nothing is bought." in text
    assert "no pod waits for room" in text


def test_what_cannot_be_read_is_told():
    broken = pod("broken", "6 cores")
    text = drawn(Scene(pods=[broken], pools=[node_pool()], classes=[kwok_node_class()]))
    assert "Left out, as it cannot be read" in text
    assert "spec.containers[0].resources.requests.cpu: '6 cores' is not a quantity" in text


def test_a_pipe_gets_whole_lines_without_colour_and_a_terminal_of_100_columns_keeps_to_them():
    plain = drawn(busy())
    assert "\x1b" not in plain
    assert "…" not in plain
    assert all(line == line.rstrip() for line in plain.splitlines())
    narrow = drawn(busy(), width=100, force_terminal=True, color_system=None)
    assert max(map(len, narrow.splitlines())) <= 100
    assert "…" not in narrow
    for words in (f"growth requests cancel {COMING}", "growth removals abandon parked", "default-0a1b2c3d4e  default"):
        assert words in narrow


@pytest.fixture
def kubeconfig(tmp_path, monkeypatch):
    path = tmp_path / "kubeconfig"
    path.write_text("")
    monkeypatch.setenv("GROWTH_KUBECONFIG", str(path))
    return path


@pytest.fixture
def cluster(monkeypatch, kubeconfig):
    made = LookedAt(lambda: datetime.now(UTC))

    async def connect(*_given, **_options):
        return made

    monkeypatch.setattr(KubeCluster, "connect", connect)
    return made


def test_a_cluster_is_only_read(cluster, monkeypatch, capsys):
    asyncio.run(cluster.fill(busy()))
    code, out, err = growth(monkeypatch, capsys, "status")
    assert (code, err) == (0, "")
    assert row(out, "at-work")[4] == "Ready"
    assert "Without a place: 1 TooLarge" in out
    assert cluster.is_closed


def test_watch_in_a_pipe_prints_again_until_it_is_interrupted(cluster, monkeypatch, capsys):
    asyncio.run(cluster.fill(busy()))
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(status_command.asyncio, "sleep", pause)
    assert status_command.status(watch=True) == 0
    assert pauses == [2.0, 2.0]
    assert capsys.readouterr().out.count("machines: ") == 2


async def test_watch_on_a_terminal_survives_an_outage(cluster, monkeypatch):
    await cluster.fill(busy())
    shown = Console(file=StringIO(), width=100, height=80, force_terminal=True, highlight=False, markup=False)
    looks = 0

    async def pause(_seconds):
        nonlocal looks
        looks += 1
        cluster.fail = {"nodepools": Unreachable("list nodepools: no answer")} if looks == 1 else {}
        if looks == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(status_command.asyncio, "sleep", pause)
    async with live_cluster(None, None) as live:
        with pytest.raises(asyncio.CancelledError):
            await status_command._live(shown, live, await live.look())
    text = shown.file.getvalue()
    assert text.count("As it was: no answer (context here; --context chooses another)") == 1
    # When the API server answers again, the line about it goes.
    assert text.rindex("machines: ") > text.rindex("As it was")
    assert "As it was" not in text.rpartition("[2K")[2]


def test_a_cluster_that_cannot_be_read_is_one_line(cluster, monkeypatch, capsys):
    cluster.fail = {"nodepools": Unreachable("list nodepools: refused")}
    code, out, err = growth(monkeypatch, capsys, "status")
    assert (code, out, err) == (1, "", "growth: refused (context here; --context chooses another)\n")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["status", "--context", "nope"], 2, " has no context nope: choose one with --context; it has e2e\n"),
        (["status", "--kubeconfig", "/no/such"], 2, "there is no kubeconfig at /no/such: name one with --kubeconfig"),
        (["why", "node", "a", "--kubeconfig", "/no/such"], 2, "there is no kubeconfig at /no/such"),
        (["status", "--wach"], 2, "Unknown option"),
    ],
)
def test_wrong_options_are_one_line(kubeconfig, monkeypatch, capsys, words, code, told):  # noqa: PLR0917 - fixtures
    kubeconfig.write_text(
        "{apiVersion: v1, kind: Config, current-context: e2e, clusters: [{name: e2e, cluster: {server: 'https://x'}}],"
        " users: [{name: u, user: {token: t}}], contexts: [{name: e2e, context: {cluster: e2e, user: u}}]}"
    )
    given, out, err = growth(monkeypatch, capsys, *words)
    assert (given, out) == (code, "")
    assert err.startswith("growth: ")
    assert told in err
    assert err.count("\n") == 1
