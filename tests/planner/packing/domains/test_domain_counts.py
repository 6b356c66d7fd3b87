"""Counts of domains: machines that differ in their name only are judged once, however many a plan buys."""

from dataclasses import replace
from typing import Any

import pytest

from api.keys import LABEL_ARCH, LABEL_HOSTNAME, LABEL_ZONE
from planner.packing.domains import domain_counts
from planner.packing.domains.domain_counts import DomainCounts
from planner.packing.domains.pod_counts import Host, PodCounts
from planner.parsing.objects import parse_pod
from tests.builders import differing, pod

MACHINES = 50


def spread(name: str, key: str, arch: str):
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    spec = {
        "nodeSelector": {LABEL_ARCH: arch},
        "topologySpreadConstraints": [{**constraint, "labelSelector": {"matchLabels": {"app": name}}}],
    }
    return parse_pod(differing(pod(name), {"metadata": {"labels": {"app": name}}, "spec": spec}))


def named(model: Host, k: int) -> Host:
    return replace(model, labels={**model.labels, LABEL_HOSTNAME: f"{model.labels[LABEL_ZONE]}{k}"}, model=model)


@pytest.mark.parametrize(
    ("key", "domains"), [(LABEL_ZONE, {"a"}), (LABEL_HOSTNAME, {f"a{k}" for k in range(MACHINES)})]
)
def test_machines_of_one_kind_are_judged_once_for_classes_with_the_same_rules(
    key: str, domains: set[str], monkeypatch: pytest.MonkeyPatch
):
    judged: list[Any] = []
    host_counts = domain_counts.host_counts

    def counted(*arguments: Any) -> bool:
        judged.append(arguments)
        return host_counts(*arguments)

    monkeypatch.setattr(domain_counts, "host_counts", counted)
    kinds = [Host({LABEL_ZONE: zone, LABEL_ARCH: arch}, ()) for zone, arch in (("a", "amd64"), ("b", "arm64"))]
    machines = [named(kind, k) for kind in kinds for k in range(MACHINES)]
    pods = [spread(f"p{i}", key, "amd64") for i in range(20)]
    counts = DomainCounts(pods, PodCounts(), [machines] * len(pods))
    assert [set(one.spreads[0].counts) for one in counts.group_counts] == [domains] * len(pods)
    # Two kinds, and one set of rules.
    assert len(judged) == 2
