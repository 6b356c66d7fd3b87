"""The generated definitions on a real API server: accepted, obeyed, and readable for people."""

import json
import re

import pytest
import yaml

from api.definitions import DEFINITIONS
from api.duration import parse_duration
from api.model import read
from api.quantity import parse_quantity
from tests.api.cel_rules import as_stored
from tests.api.objects import MACHINE, node_class, pool, removal, request
from tests.api.test_duration import WRONG as WRONG_DURATIONS
from tests.api.test_kinds import SEED_POOLS
from tests.api.test_quantity import NOT_A_QUANTITY, SUFFIXES

pytestmark = pytest.mark.e2e

MODELS = {definition.kind: definition.model for definition in DEFINITIONS}
SEAT = {"namespace": "a", "name": "b", "uid": "c", "owner": "", "class": ""}
NOON = "2026-01-01T12:00:00Z"


@pytest.fixture(scope="module")
def cluster(control_plane):
    control_plane.apply_definitions()
    return control_plane


def refusal(cluster, *arguments, given=None) -> str:
    with pytest.raises(AssertionError) as caught:
        cluster.kubectl(*arguments, stdin=None if given is None else json.dumps(given))
    return str(caught.value)


def try_create(cluster, given):
    return json.loads(cluster.kubectl("create", "--dry-run=server", "-ojson", "--filename=-", stdin=json.dumps(given)))


@pytest.fixture
def stored(cluster, request):
    """Return a function that creates an object, which is deleted after the test."""

    def create(given):
        created = json.loads(cluster.kubectl("create", "-ojson", "--filename=-", stdin=json.dumps(given)))
        kind, name = created["kind"].lower(), created["metadata"]["name"]
        request.addfinalizer(lambda: cluster.kubectl("delete", kind, name))
        return created

    return create


def test_all_definitions_are_established_without_a_complaint(cluster):
    names = [f"{definition.plural}.growth.dev" for definition in DEFINITIONS]
    for found in json.loads(cluster.kubectl("get", "crd", *names, "-ojson"))["items"]:
        conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


def test_the_seed_pools_are_accepted_word_for_word(cluster):
    assert cluster.kubectl("create", "--dry-run=server", "--filename=-", stdin=SEED_POOLS).split("\n")[:2] == [
        "nodepool.growth.dev/default created (server dry run)",
        "nodepool.growth.dev/gpu created (server dry run)",
    ]


@pytest.mark.parametrize(
    "given",
    [*yaml.safe_load_all(SEED_POOLS), node_class(), request(), removal()],
    ids=lambda given: f"{given['kind']} {given['metadata']['name']}",
)
def test_what_is_stored_says_what_is_obeyed_and_is_read_as_the_same(cluster, given):
    created = try_create(cluster, given)
    assert created["spec"] == as_stored(given)["spec"]
    assert read(MODELS[given["kind"]], created).spec == read(MODELS[given["kind"]], given).spec


def told_of(message: str, pattern: str) -> set[int]:
    return {int(number) for number in re.findall(pattern, message)}


def test_the_api_server_reads_quantities_as_we_do(cluster):
    texts = [f"{number}{suffix}" for number in ("1", "0.5", "1.", ".5", "+2") for suffix in SUFFIXES]
    texts += ["1e3", "1E3", "1e-3", "1E+3", "1e400", "-1", "-1Ki", "1K", "1ki", *NOT_A_QUANTITY]

    def is_capacity(text: str) -> bool:
        try:
            return parse_quantity(text) >= 0
        except ValueError:
            return False

    machines = [
        MACHINE | {"name": f"m{number}", "capacity": {"cpu": 1, "memory": text}} for number, text in enumerate(texts)
    ]
    message = refusal(cluster, "create", "--dry-run=server", "--filename=-", given=node_class(*machines))
    refused = {texts[i] for i in told_of(message, r"serverTypes\[(\d+)\]\.capacity\[memory\]: Invalid value")}
    # The API server takes these for zero, against its own grammar: such a text is a slip of the pen.
    only_we_refuse = {".", "m"}
    assert refused | only_we_refuse == {text for text in texts if not is_capacity(text)}
    assert not refused & only_we_refuse


def test_the_api_server_reads_durations_as_we_do(cluster):
    texts = [text for text in WRONG_DURATIONS if isinstance(text, str)]
    texts += ["0", "0s", "1.5h", "1h30m", "30m1h", "5ms", "0.001s", "0.0001s", "87600h", "87600h1ms", "99999h"]

    def is_duration(text: str) -> bool:
        try:
            parse_duration(text)
        except ValueError:
            return False
        return True

    places = [{"name": f"p{number}", "bootTime": text} for number, text in enumerate(texts)]
    machine = MACHINE | {"locations": places}
    message = refusal(cluster, "create", "--dry-run=server", "--filename=-", given=node_class(machine))
    refused = told_of(message, r"locations\[(\d+)\]\.bootTime: Invalid value")
    assert {texts[i] for i in refused} == {text for text in texts if not is_duration(text)}


def test_of_a_request_only_the_reservation_may_change(cluster, stored):
    stored(request("definitions-a"))
    for field, value in (
        ("pool", "other"),
        ("serverType", "cax21"),
        ("location", "nbg1"),
        ("classRef", {"name": "other"}),
    ):
        patch = json.dumps({"spec": {field: value}})
        message = refusal(cluster, "patch", "nr", "definitions-a", "--type=merge", f"--patch={patch}")
        assert "spec: Invalid value: only reservedFor may change" in message
    patch = json.dumps({"spec": {"reservedFor": [SEAT]}})
    changed = cluster.kubectl("patch", "nr", "definitions-a", "--type=merge", f"--patch={patch}", "-ojson")
    assert json.loads(changed)["spec"]["reservedFor"] == [SEAT]
    cluster.kubectl("patch", "nr", "definitions-a", "--type=merge", '--patch={"spec":{"reservedFor":null}}')


def test_of_a_removal_nothing_may_change(cluster, stored):
    whole = stored(removal("definitions-b"))
    for patch in ('{"spec":{"immediate":true}}', '{"spec":{"nodeName":"n"}}', '{"spec":{"reason":"Other"}}'):
        message = refusal(cluster, "patch", "nrr", "definitions-b", "--type=merge", f"--patch={patch}")
        assert "spec: Invalid value: nothing here may change: delete the removal and make another" in message
    # What our own model writes back is no change.
    same = read(MODELS["NodeRemovalRequest"], whole).to_json()["spec"]
    cluster.kubectl("patch", "nrr", "definitions-b", "--type=merge", f"--patch={json.dumps({'spec': same})}")


def test_the_status_is_written_by_its_own_door_only(cluster, stored):
    status = {"phase": "Ready", "providerID": "kwok://definitions-c", "createAttemptAt": NOON}
    created = stored(request("definitions-c") | {"status": status})
    assert "status" not in created
    patch = json.dumps({"status": status, "spec": {"reservedFor": [SEAT]}})
    through_main = cluster.kubectl("patch", "nr", "definitions-c", "--type=merge", f"--patch={patch}", "-ojson")
    assert "status" not in json.loads(through_main)
    patch = json.dumps({"status": status, "spec": {"reservedFor": []}})
    through_status = json.loads(
        cluster.kubectl(
            "patch", "nr", "definitions-c", "--subresource=status", "--type=merge", f"--patch={patch}", "-ojson"
        )
    )
    assert through_status["status"] == status
    assert through_status["spec"]["reservedFor"] == [SEAT]
    assert through_status["metadata"]["generation"] == created["metadata"]["generation"] + 1


def test_a_wrong_status_is_refused(cluster, stored):
    stored(request("definitions-d"))
    patch = '{"status":{"phase":"Lost"}}'
    message = refusal(
        cluster, "patch", "nr", "definitions-d", "--subresource=status", "--type=merge", f"--patch={patch}"
    )
    assert 'status.phase: Unsupported value: "Lost"' in message


def test_two_writers_keep_their_own_conditions(cluster, stored):
    stored(pool(name="definitions-e"))
    for writer, kind in (("one", "Ready"), ("two", "AtMax")):
        condition = {"type": kind, "status": "True", "reason": "Seen", "lastTransitionTime": NOON}
        part = pool(name="definitions-e") | {"status": {"conditions": [condition]}}
        del part["spec"]
        cluster.kubectl(
            "apply",
            "--server-side",
            "--subresource=status",
            f"--field-manager={writer}",
            "--filename=-",
            stdin=json.dumps(part),
        )
    found = json.loads(cluster.kubectl("get", "gnp", "definitions-e", "-ojson"))
    assert {condition["type"] for condition in found["status"]["conditions"]} == {"Ready", "AtMax"}


def test_columns(cluster, stored):
    stored(pool(name="definitions-f"))
    stored(node_class(name="definitions-f"))
    stored(request("definitions-f", location="nbg1"))
    stored(removal("definitions-f", reason="Empty"))
    for kind, name, patch in (
        ("gnp", "definitions-f", {"nodes": {"ready": 3, "inFlight": 2, "removing": 1}, "pricePerHour": "0.5"}),
        ("nr", "definitions-f", {"phase": "Unmet", "reason": "NoCapacity"}),
        ("nrr", "definitions-f", {"phase": "Pending", "scaleDownAt": NOON}),
    ):
        patched = json.dumps({"status": patch})
        cluster.kubectl("patch", kind, name, "--subresource=status", "--type=merge", f"--patch={patched}")

    def table(kind: str) -> list[list[str]]:
        lines = cluster.kubectl("get", kind, "definitions-f").rstrip().split("\n")
        return [re.split(r"\s{2,}", line.strip()) for line in lines]

    assert table("gnp")[0] == ["NAME", "NODES", "COMING", "GOING", "PRICE/H", "READY", "AGE"]
    assert table("gnp")[1][1:5] == ["3", "2", "1", "0.5"]
    assert table("nr")[0] == ["NAME", "POOL", "TYPE", "LOCATION", "REASON", "PHASE", "AGE"]
    assert table("nr")[1][1:6] == ["default", "cax11", "nbg1", "NoCapacity", "Unmet"]
    assert table("nrr")[0] == ["NAME", "POOL", "TYPE", "WHY", "REMOVAL AT", "PHASE", "AGE"]
    assert table("nrr")[1][1:6] == ["default", "cax11", "Empty", NOON, "Pending"]
    assert table("kwoknodeclass")[0] == ["NAME", "CURRENCY", "AGE"]
    everything = cluster.kubectl("get", "growth", "-oname")
    for kind in ("nodepool", "kwoknodeclass", "noderequest", "noderemovalrequest"):
        assert f"{kind}.growth.dev/definitions-f" in everything


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("gnp", "A set of server types that Growth may buy, for the pods that select it by their node selector"),
        (
            "gnp.spec.scaleUp.joinTimeout",
            "one that is not Ready then is deleted. A number with a unit",
        ),
        ("gnp.spec.scaleUp.joinTimeout", "ms, s, m or h. Default: 15m."),
        ("gnp.spec.limits.max", "Without it, every server type needs a max of its own."),
        ("gnp.spec.scaleDown.node", "How long it must have been so without a break."),
        (
            "gnp.spec.scaleUp.estimators",
            "binPack for waiting pods, threshold for thresholdPercent. Without it, binPack.",
        ),
        ("gnp.status.pricePerHour", "What the machines of the pool cost per hour together. A decimal number in quotes"),
        ("gnp.spec.serverTypes.max", "Without it, only the pool's limit holds."),
        ("nr.spec", "The machine that is wanted."),
        ("nr.status.workflowId", "Id of the Temporal workflow that carries it out."),
        ("nrr.spec.reason", "Why it shall go, one CamelCase word. Default: Requested."),
        ("gnp.spec.scaleDown.mode", "with wait, those with pods may, once these have ended; with drain, pods move"),
        ("gnp.spec.scaleDown.hardGrace", "budget, wish or data. Without it, never. A number with a unit"),
        ("nrr.status.drainStartedAt", "hardGrace, terminationGracePeriod and drainTimeout count from here."),
        (
            "nrr.status.scaleDownAt",
            "or the wait for what replaces the machine; until then the removal can be cancelled.",
        ),
        ("kwoknodeclass.spec.serverTypes.pricePerHour", 'A decimal number in quotes, such as "0.0106".'),
        ("kwoknodeclass.spec.faults.times", "Without it, always."),
    ],
)
def test_explain_tells_every_field_in_words(cluster, path, text):
    printed = " ".join(cluster.kubectl("explain", path).split())
    assert text in printed


def test_a_pool_name_with_a_dot_is_told_of_at_the_name(cluster):
    message = refusal(cluster, "create", "--dry-run=server", "--filename=-", given=pool(name="a.b"))
    assert "metadata.name: Invalid value: must be lower-case letters" in message
