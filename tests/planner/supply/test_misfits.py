"""DaemonSet pods that are larger than the machine: Kubernetes leaves them pending, and they stop nobody else."""

from planner.plan import plan
from tests.builders import daemon_set, node, pod
from tests.planner.scenes import scene

LARGEST = "cx42"


def bought(made):
    return [request.server_type for request in made.requests]


def conditions(made):
    (report,) = made.pools
    return {each.type: (each.status, each.reason, each.message) for each in report.status.conditions}


def test_one_that_fits_on_no_machine_of_the_pool_is_named_and_the_pod_is_bought_for():
    """Source: shared case 14."""
    made = plan(scene(pod("a", "500m", "512Mi"), daemon_sets=[daemon_set("monster", "20", "8Gi")]).snapshot())
    assert bought(made) == ["cx22"]
    assert conditions(made)["DaemonSetsTooLarge"] == (
        "True",
        "TooLarge",
        (
            "DaemonSet kube-system/monster (cpu 20, memory 8Gi) needs more than any machine of the pool has: "
            "its pods stay pending on new ones"
        ),
    )


def test_one_that_fits_on_the_larger_types_has_those_bought():
    made = plan(scene(pod("a", "500m", "512Mi"), daemon_sets=[daemon_set("agent", "5", "1Gi")]).snapshot())
    assert bought(made) == [LARGEST]
    assert "DaemonSetsTooLarge" not in conditions(made)


def test_the_others_keep_their_room():
    agents = [daemon_set("monster", "20", "8Gi"), daemon_set("agent", "1900m", "128Mi")]
    assert bought(plan(scene(pod("a", "500m", "512Mi"), daemon_sets=agents).snapshot())) == ["cx32"]


def test_a_node_that_is_too_small_for_one_has_room_for_pods():
    given = scene(pod("a", "500m", "512Mi"), node("n"), daemon_sets=[daemon_set("monster", "20", "8Gi")])
    made = plan(given.snapshot())
    assert (bought(made), [placed.node for placed in made.placed]) == ([], ["n"])


def test_the_condition_is_over_once_it_fits():
    given = scene(pod("a", "500m", "512Mi"), daemon_sets=[daemon_set("monster", "20", "8Gi")])
    told = plan(given.snapshot())
    given.pools[0]["status"] = told.pools[0].status.model_dump(mode="json", by_alias=True)
    given.daemon_sets = []
    assert conditions(plan(given.snapshot()))["DaemonSetsTooLarge"][:2] == ("False", "NoDaemonSetsTooLarge")
