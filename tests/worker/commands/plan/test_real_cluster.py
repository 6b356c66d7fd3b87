"""Plans with a class of simulated machines beside real Nodes: as asked by hand, as the worker's of its objects."""

import pytest

from api.model import read
from api.v1alpha1.kwok_node_class import KwokNodeClass
from tests.builders import NOW, kwok_node_class, node_pool, pod
from tests.worker.commands.plan.test_command import planned, written
from tests.worker.hetzner_dump import dump
from worker.commands.catalogue.catalogue import catalogue_of

REAL = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "cp-1"},
    "spec": {"providerID": "hcloud://42", "unschedulable": True},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "nodeInfo": {"kubeletVersion": "v1.33.1"}},
}
SENTENCE = "Node cp-1 is real (provider id hcloud://42), and machines of this class are simulated"


def node_class(status=None, reason=""):
    made = kwok_node_class()
    if status is not None:
        stamp = {"lastTransitionTime": "2026-03-01T11:00:00Z", "message": SENTENCE}
        made["status"]["conditions"] = [{"type": "Ready", "status": status, "reason": reason, **stamp}]
    return made


def test_a_class_that_no_worker_has_judged_is_planned_as_asked(capsys, tmp_path):
    made = planned(capsys, written(tmp_path, dump(node_class(), node_pool(), pod("web"), REAL)))
    assert len(made["requests"]) == 1


def test_the_objects_of_a_cluster_give_the_plan_of_its_worker(capsys, tmp_path):
    made = planned(capsys, written(tmp_path, dump(node_class("False", "RealCluster"), node_pool(), pod("web"), REAL)))
    assert made["requests"] == []
    (entry,) = made["unplaced"]
    assert [reason["code"] for reason in entry["reasons"]] == ["RealCluster"]
    assert SENTENCE in entry["reasons"][0]["message"]


@pytest.mark.parametrize("reason", ["SimulatedMachinesAllowed", "NoRealNode"])
def test_a_class_that_its_worker_uses_is_planned(capsys, tmp_path, reason):
    made = planned(capsys, written(tmp_path, dump(node_class("True", reason), node_pool(), pod("web"), REAL)))
    assert len(made["requests"]) == 1


def test_the_price_list_says_that_nothing_is_bought_and_why():
    listed = catalogue_of(read(KwokNodeClass, node_class("False", "RealCluster")), [], NOW)
    assert listed.problem == SENTENCE
    assert listed.conditions == ()
    assert listed.rows
    assert catalogue_of(read(KwokNodeClass, node_class()), [], NOW).problem == ""
