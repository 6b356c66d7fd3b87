from activities.ports.cluster import (
    DAEMON_SETS,
    NODE_POOLS,
    NODE_REMOVAL_REQUESTS,
    NODE_REQUESTS,
    NODES,
    PODS,
)
from activities.ports.errors import Forbidden, NotFound, Unreachable
from activities.providers.kinds import node_classes
from worker.unreadable_cluster import trouble

OURS = (NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, *node_classes())
INSTALL = "`growth crds | kubectl apply --server-side -f -`"


def forbidden(resource: str, *, verb: str = "list", user: str = "jane") -> Forbidden:
    return Forbidden("as the server says it", user=user, verb=verb, resource=resource, advice="grant it")


def test_nothing_is_wrong():
    assert trouble({}) == ""


def test_a_cluster_without_growth():
    missing = {resource: NotFound("list: HTTP 404") for resource in OURS}
    assert trouble(missing) == f"Growth's kinds are not installed: {INSTALL} installs them"


def test_definitions_of_an_older_version_lack_a_kind():
    assert trouble({NODE_POOLS: NotFound("")}) == f"NodePool is not installed: {INSTALL} installs what is missing"
    two = trouble({NODE_REQUESTS: NotFound(""), NODE_REMOVAL_REQUESTS: NotFound("")})
    assert two.startswith("NodeRemovalRequest and NodeRequest are not installed")


def test_a_server_that_is_no_kubernetes():
    missing = {resource: NotFound("") for resource in (PODS, NODES, *OURS)}
    assert trouble(missing) == "the server knows no nodes, pods: is it a Kubernetes API server?"


def test_all_missing_rights_are_one_sentence():
    failures = {PODS: forbidden("pods"), DAEMON_SETS: forbidden("daemonsets.apps"), NODES: forbidden("nodes")}
    assert trouble(failures) == "user jane may not list daemonsets.apps, nodes, pods: grant it"


def test_what_stands_in_the_way_of_all_is_told_once():
    failures = {one: Unreachable(f"{verb} {one.plural}: no answer") for verb, one in (("list", PODS), ("watch", NODES))}
    assert trouble(failures) == "no answer"


def test_different_troubles_stand_behind_each_other():
    failures = {PODS: Unreachable("list pods: no answer"), NODES: forbidden("nodes"), NODE_POOLS: NotFound("")}
    assert [part.split()[0] for part in trouble(failures).split("; ")] == ["no", "NodePool", "user"]
