"""Kinds of node class are what entry points register: each once, and a package that is broken stops no other."""

from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import EntryPoint, entry_points

import pytest
import yaml

from activities.ports.provider_kind import Surroundings, rights_on
from activities.providers.built_in import BUILT_IN, ENTRY_POINTS
from activities.providers.kinds import connected, declared, node_classes, provider_kinds, served
from tests.project.deploy_base import one, rendered_base

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry(name, value):
    return EntryPoint(name, value, ENTRY_POINTS)


def test_what_is_built_in_comes_first_and_once_whether_metadata_names_it_or_not():
    further = [entry("b", "b:KIND"), entry("a", "a:KIND")]
    expected = ["kwok", "hetzner", "a", "b"]
    assert [each.name for each in declared(further)] == expected
    assert [each.name for each in declared([*further, *BUILT_IN])] == expected


def test_the_metadata_of_this_installation_is_what_is_loaded():
    assert served(declared(entry_points(group=ENTRY_POINTS))) == provider_kinds()
    assert [kind.kind for kind in provider_kinds()][:2] == ["KwokNodeClass", "HetznerNodeClass"]
    assert node_classes() == tuple(kind.node_classes for kind in provider_kinds())


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (entry("mist", "mist:KIND"), "provider mist (mist:KIND) cannot be loaded: No module named 'mist'"),
        (
            entry("mist", "api.keys:GROUP"),
            "provider mist (api.keys:GROUP) is left out: it is no ProviderKind",
        ),
        (
            entry("mist", "activities.providers.kwok.registration:KIND"),
            "provider mist (activities.providers.kwok.registration:KIND) is left out: another one serves KwokNodeClass",
        ),
    ],
)
def test_a_package_that_cannot_be_served_is_told_of_and_left_out(broken, told, caplog):
    assert served([*BUILT_IN, broken]) == served(BUILT_IN)
    assert [record.getMessage() for record in caplog.records] == [told]


def test_a_built_in_provider_that_does_not_load_is_a_fault_and_no_missing_kind(monkeypatch):
    lost = entry("kwok", "nowhere:KIND")
    monkeypatch.setattr("activities.providers.kinds.BUILT_IN", (lost,))
    with pytest.raises(ModuleNotFoundError):
        served([lost])


def surroundings(_kind):
    return Surroundings(cluster=None, cluster_name="here", namespace="growth-system", now=lambda: NOW)


def test_a_package_whose_provider_cannot_be_connected_is_told_of_and_stops_no_other(caplog):
    def refuse(_surroundings):
        raise KeyError("TOKEN")

    kwok = provider_kinds()[0]

    class MistNodeClass(kwok.model):
        pass

    further = replace(kwok, definition=replace(kwok.definition, model=MistNodeClass), connect=refuse)
    assert further.kind == "MistNodeClass"
    providers = connected([further, *provider_kinds()], surroundings)
    assert {"KwokNodeClass", "HetznerNodeClass"} <= set(providers)
    assert "MistNodeClass" not in providers
    assert "the provider of MistNodeClass cannot be connected and is left out: 'TOKEN'" in caplog.text


def test_a_built_in_provider_that_cannot_be_connected_is_a_fault():
    def refuse(_surroundings):
        raise KeyError("TOKEN")

    refuse.__module__ = "activities.providers.kwok.registration"
    with pytest.raises(KeyError, match="TOKEN"):
        connected([replace(provider_kinds()[0], connect=refuse)], surroundings)


def test_the_base_gives_the_rights_that_built_in_kinds_need():
    base = rendered_base()
    for role, rules in zip(("ClusterRole", "Role"), rights_on(provider_kinds()), strict=True):
        given = set().union(*(granted(rule) for rule in one(base, role)["rules"]))
        lacking = set().union(*(granted(rule) for rule in rules)) - given
        assert {right for right in lacking if (*right[:3], None) not in given} == set(), yaml.safe_dump(rules)


def granted(rule):
    """Each right of a rule: group, resource, verb and name, None for any."""
    names = rule.get("resourceNames") or [None]
    return {(g, r, v, n) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"] for n in names}
