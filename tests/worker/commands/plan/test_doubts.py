"""What is told of a plan whose files do not say everything."""

import pytest

from tests.builders import daemon_set, node, pod
from tests.planner.scenes import Scene
from worker.commands.plan.doubts import doubts

TEAM = {"matchLabels": {"team": "a"}}
BY_NAME = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}


def looking(namespaces):
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": namespaces}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def told(**parts):
    scene = Scene(**parts)
    return list(doubts(scene.snapshot(), scene.pods, scene.nodes))


def test_labels_of_namespaces_that_no_file_tells():
    pods = [pod("web", affinity=looking(TEAM)), pod("db", namespace="shop")]
    (line,) = told(pods=pods)
    assert line == (
        "a namespaceSelector of default/web asks for labels of namespaces, and the Namespace objects of default, shop "
        "are missing: these are taken to have no label but kubernetes.io/metadata.name"
    )
    (line,) = told(pods=pods, namespaces={"default": {}})
    assert "the Namespace objects of shop are missing" in line
    assert told(pods=pods, namespaces={"default": {}, "shop": {}}) == []


def test_a_daemon_set_may_ask_for_them():
    (line,) = told(daemon_sets=[daemon_set("agent", affinity=looking(TEAM))])
    assert line.startswith("a namespaceSelector of kube-system/agent asks")


@pytest.mark.parametrize("selector", [{}, BY_NAME, None])
def test_selectors_that_ask_for_no_label_that_may_be_missing(selector):
    assert told(pods=[pod("web", affinity=looking(selector))]) == []


def test_nodes_that_do_not_say_whether_they_are_ready():
    silent, bare, down = node("a"), node("b"), node("c")
    silent["status"]["conditions"] = []
    del bare["status"]
    down["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    ending = 'one that is up has conditions: [{type: Ready, status: "True"}]'
    assert told(nodes=[silent, down]) == [f"1 Node without a Ready condition in the status takes no pods: a; {ending}"]
    assert told(nodes=[silent, bare, down, node("d")]) == [
        f"2 Nodes without a Ready condition in the status take no pods: a, b; {ending}"
    ]


def test_pods_of_other_schedulers_are_named_if_they_ask_for_machines():
    pods = [
        pod("a", schedulerName="volcano"),
        pod("b", schedulerName="volcano", node="n"),
        pod("c", schedulerName="default-scheduler"),
        pod("d", schedulerName="yunikorn"),
    ]
    assert told(pods=pods, nodes=[node("n")]) == [
        "planned as default-scheduler would place them, although they name volcano: default/a",
        "planned as default-scheduler would place them, although they name yunikorn: default/d",
    ]
