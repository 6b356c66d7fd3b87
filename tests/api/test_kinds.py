from datetime import timedelta
from decimal import Decimal

import pytest
import yaml

from api.model import read
from api.v1alpha1.kwok_node_class import KwokNodeClass
from api.v1alpha1.node_pool import ClassRef, NodePool
from api.v1alpha1.node_removal_request import NodeRemovalRequest, RemovalPhase
from api.v1alpha1.node_request import NodeRequest, RequestPhase
from tests.api.cel_rules import as_stored, complaints
from tests.api.objects import node_class, pool, removal, request

# The example pools that came with the first sketch of Growth, with the apiVersion of today.
SEED_POOLS = """
apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata:
  name: default
spec:
  serverTypes:
    - name: CAX11
      max: 10
    - name: CAX21
      # MAYBE feature - pre-warm to guarantee 1 even without load
      min: 1
      max: 5
    - name: CAX31
      max: 1

---

apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata:
  name: gpu
spec:
  serverTypes:
    - name: GEX44
      max: 5
"""


def test_the_seed_pools_are_accepted_word_for_word():
    documents = list(yaml.safe_load_all(SEED_POOLS))
    default, gpu = (read(NodePool, document) for document in documents)
    assert [(t.name, t.min, t.max) for t in default.spec.server_types] == [
        ("cax11", 0, 10),
        ("cax21", 1, 5),
        ("cax31", 0, 1),
    ]
    assert [(t.name, t.max) for t in gpu.spec.server_types] == [("gex44", 5)]
    assert [complaints(document) for document in documents] == [[], []]


@pytest.mark.parametrize("given", [pool(), node_class(), request(classRef={}), removal()], ids=lambda o: o["kind"])
def test_the_defaults_of_the_schema_are_those_of_the_model(given):
    model = {kind.__name__: kind for kind in (NodePool, KwokNodeClass, NodeRequest, NodeRemovalRequest)}[given["kind"]]
    stored = as_stored(given)
    assert stored != given
    assert read(model, stored) == read(model, given)


def test_only_the_pool_named_default_takes_pods_that_select_none_unless_told_otherwise():
    def takes(name, **spec):
        return read(NodePool, pool(name=name, **spec)).takes_unselected_pods

    assert takes("default")
    assert not takes("gpu")
    assert not takes("default", matchUnselectedPods=False)
    assert takes("gpu", matchUnselectedPods=True)


def test_a_pool_may_name_a_class_of_any_kind():
    spec = read(NodePool, pool(template={"classRef": {"kind": "OvercastNodeClass"}})).spec
    assert spec.template.class_ref == ClassRef(kind="OvercastNodeClass", name="default")
    assert complaints(pool(template={"classRef": {"kind": "OvercastNodeClass"}})) == []


def test_the_defaults_of_a_pool_are_fast_and_cheap():
    """Design §10: no waiting before buying, removal of empty nodes only."""
    spec = read(NodePool, pool()).spec
    assert spec.template.class_ref == ClassRef(kind="KwokNodeClass", name="default")
    assert str(spec.template.class_ref) == "KwokNodeClass/default"
    assert spec.scale_up.reserve
    assert spec.scale_down.mode == "empty"
    assert spec.scale_down.idle_after == timedelta(minutes=10)
    assert spec.scale_down.soft_grace == timedelta(minutes=1)
    assert spec.scale_up.unavailable_ttl == timedelta(seconds=120)


def test_a_node_class_is_read_in_exact_terms():
    spec = read(KwokNodeClass, node_class()).spec
    assert spec.currency == "EUR"
    assert spec.server_types[0].price_per_hour == Decimal("0.0106")
    assert spec.server_types[0].locations[0].boot_time == timedelta(seconds=1)
    assert spec.server_types[0].locations[0].available


def test_names_of_fields_that_are_not_plain_camel_case():
    """Kubernetes API conventions: acronyms are in upper case; other programs read these fields."""
    whole = request(reservedFor=[{"namespace": "n", "name": "p", "uid": "u", "owner": "o", "class": "c"}])
    whole["status"] = {"phase": "Ready", "providerID": "kwok://x", "workflowId": "w"}
    written = read(NodeRequest, whole).to_json()
    assert written["status"] | whole["status"] == written["status"]
    assert written["spec"]["reservedFor"] == whole["spec"]["reservedFor"]
    assert read(NodeRemovalRequest, removal(providerID="kwok://x")).to_json()["spec"]["providerID"] == "kwok://x"
    scale_up = read(NodePool, pool(scaleUp={"unavailableTTL": "1s", "failedTTL": "2s", "recordTTL": "3s"})).to_json()
    assert {"unavailableTTL": "1s", "failedTTL": "2s", "recordTTL": "3s"}.items() <= scale_up["spec"]["scaleUp"].items()


def test_new_objects_stand_at_the_beginning():
    assert read(NodeRequest, request()).status.phase is RequestPhase.PENDING
    assert read(NodeRemovalRequest, removal()).status.phase is RemovalPhase.PENDING


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match=r"spec.createAttemptAt: .* has no time zone: end it with Z"):
        read(NodeRemovalRequest, removal(createAttemptAt="2026-01-01T12:00:00"))


def test_times_keep_microseconds_and_come_back_in_utc():
    found = read(NodeRemovalRequest, removal(createAttemptAt="2026-01-01T13:00:00.000001+01:00"))
    assert found.to_json()["spec"]["createAttemptAt"] == "2026-01-01T12:00:00.000001Z"
