"""Classes whose rules mean very many pods wait, and those that ask for little are planned in any case.

Source: docs/design.md#round; the budget is counted in comparisons, never in seconds.
"""

from planner.packing.domains.pod_counts import Host, PodCounts
from planner.parsing.objects import parse_pod
from planner.policies.class_budget import MOST_OF_CLASS, within_budget
from planner.scheduling.label_index import LabelIndex
from planner.supply.pod_group import GroupKeys, pod_groups
from tests.builders import differing, pod

HOSTNAME = "kubernetes.io/hostname"


def keeps_from(selector: dict, name: str, *, terms: int = 1, **labels: str):
    required = [{"topologyKey": HOSTNAME, "labelSelector": selector} for _ in range(terms)]
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return parse_pod(differing(pod(name), {"metadata": {"labels": labels}, "spec": {"affinity": affinity}}))


def from_all(name: str, *, terms: int = 1):
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    return keeps_from(selector, name, terms=terms, app=name)


def from_own(name: str):
    return keeps_from({"matchLabels": {"app": name}}, name, app=name)


def judged(pods, counts: PodCounts | None = None, most: int = 1000) -> tuple[list[str], dict[str, str]]:
    groups = pod_groups(pods, GroupKeys(), pods)
    admitted, refused = within_budget(groups, counts or PodCounts(), most_of_round=most)
    reasons = {each.group.example.name: each.reasons[0] for each in refused}
    assert {reason.code for reason in reasons.values()} <= {"TooMuchToJudge"}
    return [group.example.name for group in admitted], {name: reason.message for name, reason in reasons.items()}


def test_thousands_of_classes_that_keep_from_their_own_are_no_work():
    pods = [from_own(f"p{i}") for i in range(900)]
    assert judged(pods) == ([each.name for each in sorted(pods, key=lambda each: each.key)], {})


def test_classes_that_keep_from_all_wait_and_others_are_planned():
    pods = [*(from_all(f"all{i}") for i in range(100)), *(from_own(f"own{i}") for i in range(100))]
    admitted, refused = judged(pods, most=1000)
    # 100 comparisons of those that mean one each, and four classes that are compared with 200.
    assert {name for name in admitted if name.startswith("own")} == {f"own{i}" for i in range(100)}
    assert len([name for name in admitted if name.startswith("all")]) == 4
    assert len(refused) == 96
    assert "compared 200 times with pods and machines" in refused["all99"]
    assert "waits for a later one" in refused["all99"]


def test_one_class_has_a_budget_of_its_own():
    hosts = [Host({}, (), tuple(from_own(f"r{i}") for i in range(1000)))]
    admitted, refused = judged([from_all("bad", terms=60), from_own("good")], PodCounts(hosts), most=10**9)
    assert admitted == ["good"]
    # 1,000 pods that are there and two classes that wait, by each of the 60 terms.
    assert f"compared {60 * 1002:,} times" in refused["bad"]
    assert f"at most {MOST_OF_CLASS:,} of a class" in refused["bad"]


def test_the_index_finds_whom_a_rule_means_without_a_look_at_the_others():
    pods = [from_own(f"p{i}") for i in range(1000)]
    index = LabelIndex(pods, {})
    (term,) = pods[7].pod_anti_affinity
    assert list(index.meant_by(term)) == [7]
    assert index.reach(term) == 1
