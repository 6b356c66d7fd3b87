"""`growth plan` from files: what it prints, its exit codes, and one clear line for bad input."""

import io
import json
import re
import sys
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from tests.worker.looking import growth
from worker.commands.plan.command import plan

EXAMPLES = Path(__file__).resolve().parents[4] / "deploy" / "examples"
POOL, PODS = str(EXAMPLES / "pool.yaml"), str(EXAMPLES / "pods.yaml")
NOW = "2026-03-01T12:00:00Z"


def planned(capsys, *files, **options):
    assert plan(file=tuple(map(str, files)), now=NOW, output="json", **options) == 0
    return json.loads(capsys.readouterr().out)


def written(tmp_path, text, name="objects.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_the_examples_as_json(capsys):
    made = planned(capsys, POOL, PODS)
    assert list(made) == [
        "apiVersion",
        "result",
        "requests",
        "placed",
        "nominated",
        "unplaced",
        "removals",
        "kept",
        "cancelled",
        "costPerHour",
        "costPerMonth",
        "lowerBoundPerHour",
        "gapPercent",
        "optimal",
        "currency",
        "pools",
    ]
    assert (made["apiVersion"], made["result"]) == ("growth.dev/v1alpha1", "IncompletePlacement")
    # Four cx32 at 0.01 hold the cpu of all 14 pods to 95 %.
    assert (made["costPerHour"], made["costPerMonth"], made["currency"]) == ("0.04", "29.2", "EUR")
    assert Decimal("0.0369") <= Decimal(made["lowerBoundPerHour"]) <= Decimal("0.04")
    assert made["optimal"] == (made["gapPercent"] == 0.0) == (made["lowerBoundPerHour"] == "0.04")
    assert {r["serverType"] for r in made["requests"]} == {"cx32"}
    first = made["requests"][0]
    assert list(first) == ["name", "pool", "serverType", "location", "pricePerHour", "pricePerMonth", "pods", "why"]
    assert (first["name"], first["pool"], first["location"], first["pricePerHour"]) == (
        "default-new-1",
        "default",
        "fsn1",
        "0.01",
    )
    # 3.75 of the 3.92 cores that DaemonSets and the system leave; a cx42 is the next that holds these pods.
    assert (first["why"]["binding"], first["why"]["shares"]["cpu"]) == ("cpu", 0.9566)
    cx42 = {"serverType": "cx42", "location": "fsn1", "pool": "default", "pricePerHour": "0.0232"}
    assert (first["why"]["runnerUp"], first["why"]["cheaper"]) == (cx42, None)
    assert sum(len(r["pods"]) for r in made["requests"]) == 14
    reasons = {u["pod"]: [r["code"] for r in u["reasons"]] for u in made["unplaced"]}
    assert reasons == {
        "default/training-1": ["TooLarge"],
        "default/video-1": ["PoolNotFound"],
    }
    (too_large,) = (u["reasons"][0] for u in made["unplaced"] if u["pod"] == "default/training-1")
    assert too_large["serverType"] == "cx52"
    (pool,) = made["pools"]
    fields = [
        "name",
        "counts",
        "utilisation",
        "lock",
        "delta",
        "pricePerHour",
        "pricePerMonth",
        "currency",
        "conditions",
        "budget",
        "due",
        "blockedCount",
        "blocked",
    ]
    assert list(pool) == fields
    assert (pool["pricePerHour"], pool["pricePerMonth"], pool["currency"]) == ("0", "0", "EUR")
    assert (pool["counts"], pool["delta"], pool["lock"]) == (
        {"ready": 0, "inFlight": 0, "removing": 0, "total": 0},
        4,
        None,
    )


CLUSTER = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: idle
    labels: {growth.dev/pool: default, growth.dev/server-type: cx22, growth.dev/request: idle}
    annotations: {growth.dev/idle-since: 2026-03-01T11:00:00Z}
    creationTimestamp: 2026-03-01T10:00:00Z
  status:
    allocatable: {cpu: 1900m, memory: 3Gi, pods: "110"}
    conditions: [{type: Ready, status: "True"}]
- apiVersion: v1
  kind: Node
  metadata: {name: roomy, labels: {kubernetes.io/arch: amd64}}
  status:
    allocatable: {cpu: 2, memory: 8Gi, pods: 110}
    conditions: [{type: Ready, status: "True"}]
- apiVersion: v1
  kind: Pod
  metadata: {name: video-2, namespace: media}
  spec:
    containers: [{name: main, resources: {requests: {cpu: 1950m, memory: 1Gi}}}]
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
- apiVersion: growth.dev/v1alpha1
  kind: NodeRequest
  metadata:
    name: default-x
    ownerReferences: [{apiVersion: growth.dev/v1alpha1, kind: NodePool, name: default, uid: x}]
  spec: {pool: default, serverType: cx22, location: fsn1, classRef: {name: default}}
"""


def test_existing_machines_removals_and_cancelled_requests(capsys, tmp_path):
    made = planned(capsys, POOL, written(tmp_path, CLUSTER))
    assert made["placed"] == [{"pod": "media/video-2", "node": "roomy"}]
    assert made["removals"] == [{"node": "idle", "reason": "Empty", "at": "2026-03-01T12:01:00Z"}]
    assert made["cancelled"] == ["default-x"]
    assert (made["result"], made["requests"], made["costPerHour"]) == ("AllPlaced", [], "0")


def test_yaml_says_the_same_as_json(capsys):
    data = planned(capsys, POOL, PODS)
    assert plan(file=(POOL, PODS), now=NOW, output="yaml") == 0
    assert yaml.safe_load(capsys.readouterr().out) == data


def test_the_table_for_people(capsys, tmp_path):
    assert plan(file=(POOL, written(tmp_path, CLUSTER)), now=NOW) == 0
    quiet = capsys.readouterr().out
    assert plan(file=(POOL, PODS), now=NOW) == 0
    text = capsys.readouterr().out
    assert quiet.startswith("AllPlaced  1 pod on machines that are there or coming\n")
    assert text.startswith("IncompletePlacement  4 new machines for 14 pods, 2 pods without a place\n")
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    for words in ("To buy", "Without a place", "Pools", "TooLarge", "cx52: cpu short by 8110m", "0.0400 EUR per hour"):
        assert words in text
    for words in ("On machines that are there or coming", "To remove", "To cancel", "2026-03-01T12:01:00Z"):
        assert words in quiet


def test_a_plan_without_anything_to_do(capsys):
    assert plan(file=(POOL,), now=NOW) == 0
    assert capsys.readouterr().out.startswith("NoDemands  nothing to buy\n")


def test_json_files_and_lists_of_one_kind(capsys, tmp_path):
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"resources": {"requests": {"cpu": 1}}}]}}
    items = written(tmp_path, json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [pod]}), "pods.json")
    made = planned(capsys, POOL, items)
    assert [r["pods"] for r in made["requests"]] == [["default/a"]]


def test_a_pod_with_a_status_is_demand_only_if_the_scheduler_said_so(capsys, tmp_path):
    waiting = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{}]}\nstatus: {phase: Pending}\n"
    assert planned(capsys, POOL, written(tmp_path, waiting))["result"] == "NoDemands"


def test_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(PODS).read_bytes())))
    code, out, err = growth(monkeypatch, capsys, "plan", "-f", POOL, "-f", "-", "-o", "json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)["requests"]) == 4


def test_a_pattern_of_the_shell_after_f(monkeypatch, capsys):
    code, out, _ = growth(monkeypatch, capsys, "plan", "-f", PODS, POOL, "--output", "json", "--now", NOW)
    assert code == 0
    assert len(json.loads(out)["requests"]) == 4


BROKEN_POD = """
apiVersion: v1
kind: Pod
metadata: {name: broken, namespace: shop}
spec: {containers: [{name: main, resources: {requests: {cpu: 6 cores}}}]}
---
apiVersion: v1
kind: Pod
metadata: {labels: {app: web}}
"""


def test_pods_that_cannot_be_read_are_told_and_the_rest_is_planned(capsys, tmp_path):
    path = written(tmp_path, BROKEN_POD)
    assert plan(file=(POOL, PODS, path), now=NOW, output="json") == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["requests"]) == 4
    second, first = err.splitlines()
    assert first.startswith(
        f"growth: left out: {path}: Pod shop/broken: "
        "spec.containers[0].resources.requests.cpu: '6 cores' is not a quantity"
    )
    assert second == f"growth: left out: {path}: document 2: Pod without a name: metadata.name: a name is needed"


EXPLAINED = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: full, labels: {kubernetes.io/arch: amd64}}
  status: {allocatable: {cpu: 1, memory: 8Gi, pods: 110}, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Node
  metadata: {name: fuller, labels: {kubernetes.io/arch: amd64}}
  status: {allocatable: {cpu: 500m, memory: 8Gi, pods: 110}, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: api}
  spec: {containers: [{name: main, resources: {requests: {cpu: 3, memory: 1Gi}}}]}
"""


def test_one_pod_explained(capsys, tmp_path):
    objects = (POOL, written(tmp_path, EXPLAINED))
    assert plan(file=objects, now=NOW, explain="api") == 0
    out = capsys.readouterr().out
    assert out.startswith("Pod default/api asks for cpu 3, memory 1Gi, pods 1; ")
    assert "Machines for it may come from pool default." in out
    # The cheapest machine with 3 cores left of deploy/examples/pool.yaml is a cax21 for those without an architecture.
    assert "The next round buys a " in out
    assert "2 nodes:\n  2 x Insufficient cpu (full: 3 requested, 1 free): full, fuller\n" in out
    assert "18 offerings:\n" in out
    assert " x it fits (" in out


def test_one_pod_explained_as_data(capsys, tmp_path):
    told = planned(capsys, POOL, written(tmp_path, EXPLAINED), explain="default/api")
    assert list(told) == ["apiVersion", "pod", "new", "reasons", "nodes", "offerings"]
    assert (told["pod"], told["reasons"]) == ("default/api", [])
    assert list(told["new"]) == ["pool", "serverType", "location", "pricePerHour", "pricePerMonth", "why"]
    assert told["nodes"] == [
        {"fits": False, "reason": "Insufficient cpu", "example": "3 requested, 1 free", "members": ["full", "fuller"]}
    ]
    fitting, *others = told["offerings"]
    assert fitting["fits"]
    assert not any(group["fits"] for group in others)
    # What is bought is the cheapest that fits.
    new = told["new"]
    assert fitting["members"][0] == f"{new['serverType']} in {new['location']} of {new['pool']}"


def test_one_pod_that_is_placed_or_runs_explained(capsys, tmp_path):
    path = written(tmp_path, CLUSTER)
    assert plan(file=(POOL, path), now=NOW, explain="media/video-2") == 0
    out = capsys.readouterr().out
    assert "It goes onto node roomy (Ready).\n" in out
    assert "2 nodes:\n  1 x it fits: roomy\n  1 x Insufficient cpu: 1950m requested, 1.9 free: idle\n" in out
    told = planned(capsys, POOL, path, explain="media/video-2")
    assert (told["pod"], told["node"], told["reasons"]) == ("media/video-2", "roomy", [])
    bound = CLUSTER.replace("spec:\n    containers", "spec:\n    nodeName: roomy\n    containers")
    assert plan(file=(POOL, written(tmp_path, bound)), now=NOW, explain="media/video-2") == 0
    assert capsys.readouterr().out.endswith("It is no demand: it is on node roomy (Ready).\n")


PREEMPTING = """
kind: Node
metadata: {name: full}
status:
  conditions: [{type: Ready, status: "True"}]
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
---
kind: Pod
metadata: {name: low, namespace: media, deletionTimestamp: "2026-03-01T11:59:58Z"}
spec: {nodeName: full, containers: [{name: main, resources: {requests: {cpu: "4"}}}]}
status: {phase: Running}
---
kind: Pod
metadata: {name: high, namespace: media}
spec: {priority: 100, containers: [{name: main, resources: {requests: {cpu: "3"}}}]}
status:
  phase: Pending
  nominatedNodeName: full
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]
"""


def test_a_pod_that_waits_for_a_node_where_others_are_preempted(capsys, tmp_path):
    path = written(tmp_path, PREEMPTING)
    assert plan(file=(POOL, path), now=NOW, explain="media/high") == 0
    out = capsys.readouterr().out
    assert "It is no demand: it waits for node full, where the scheduler makes room for it by preemption.\n" in out
    assert "1 node:\n  1 x Insufficient cpu: 3 requested, 0 free: full\n" in out
    told = planned(capsys, POOL, path, explain="media/high")
    assert (told["pod"], told["node"], told["reasons"]) == ("media/high", "full", [])
    told = planned(capsys, POOL, path)
    assert (told["result"], told["requests"]) == ("NoDemands", [])
    assert told["nominated"] == [{"pod": "media/high", "node": "full"}]
    assert plan(file=(POOL, path), now=NOW) == 0
    out = capsys.readouterr().out
    assert "On their way to nodes that the scheduler keeps for them" in out
    assert re.search(r"node +full +media/high", out)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("nobody", "growth: --explain: Pod default/nobody: no file holds such a pod\n"),
        ("shop/broken", "growth: --explain: Pod shop/broken: it cannot be read: spec.containers[0].resources"),
    ],
)
def test_a_pod_that_cannot_be_explained(monkeypatch, capsys, tmp_path, name, line):
    path = written(tmp_path, BROKEN_POD)
    code, out, err = growth(monkeypatch, capsys, "plan", "-f", POOL, "-f", path, "--explain", name)
    assert (code, out) == (2, "")
    assert err.splitlines(keepends=True)[-1].startswith(line)


POOL_HEAD = "apiVersion: growth.dev/v1alpha1\nkind: NodePool\nmetadata: {name: x}\nspec: "


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1\n", "FILE:2:1: not YAML: did not find expected ',' or ']'"),
        ("{a: 1\n", "FILE:2:1: not YAML: did not find expected ',' or '}'"),
        ("just words", "FILE: document 1 is no object: it must have apiVersion, kind and metadata"),
        ("metadata: {name: a}", "FILE: document 1: kind is missing"),
        (POOL_HEAD + "{serverTypes: [{name: a}]}", "FILE: NodePool x: spec: the pool has no max"),
        (
            POOL_HEAD + "{serverTypes: [{name: a, max: 0}]}",
            "FILE: NodePool x: spec.serverTypes[0].max: must be at least 1, not 0",
        ),
        (
            POOL_HEAD + "{serverTypes: [{name: a, max: 1}], scaleDown: {idleAfter: '10'}}",
            "FILE: NodePool x: spec.scaleDown.idleAfter: '10' must be a number with a unit",
        ),
        (
            POOL_HEAD + "{serverTypes: [{name: a, max: 1}], prewarm: 2}",
            "FILE: NodePool x: spec.prewarm: no such field",
        ),
        (
            POOL_HEAD.replace("v1alpha1", "v1beta1") + "{serverTypes: [{name: a, max: 1}]}",
            "FILE: NodePool x: apiVersion: must be 'growth.dev/v1alpha1', not 'growth.dev/v1beta1'",
        ),
        (
            POOL_HEAD.replace("NodePool", "KwokNodeClass")
            + "{serverTypes: [{name: a, capacity: {cpu: 1, memory: 1Gi}, pricePerHour: 0.5, locations: [{name: l}]}]}",
            "FILE: KwokNodeClass x: spec.serverTypes[0].pricePerHour: 0.5 must be a decimal number in quotes",
        ),
        (f"{POOL_HEAD}{{serverTypes: [{{name: a, max: 1}}]}}\n---\n{POOL_HEAD}{{}}", "FILE: NodePool x stands twice"),
    ],
)
def test_bad_input_is_one_line_that_names_file_object_and_field(monkeypatch, capsys, tmp_path, text, line):
    path = written(tmp_path, text)
    code, out, err = growth(monkeypatch, capsys, "plan", "-f", path)
    assert (code, out) == (2, "")
    assert err.startswith("growth: " + line.replace("FILE", path))
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["plan"], "growth: name the files of objects with -f, or - for standard input\n"),
        (["plan", "-f", "/no/such/file"], "growth: /no/such/file: No such file or directory\n"),
        (["plan", "-f", POOL, "--now", "noon"], "growth: --now: 'noon' is not a time in RFC 3339, such as"),
        (["plan", "-f", POOL, "--now", "2026-03-01T12:00:00"], "growth: --now: '2026-03-01T12:00:00' is not a time"),
        (["plan", "-f", POOL, "-o", "xml"], "growth: "),
    ],
)
def test_bad_words_on_the_command_line(monkeypatch, capsys, words, line):
    code, out, err = growth(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(line)
