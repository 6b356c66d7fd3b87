"""What is wrong with a HetznerNodeClass is told before anything is bought, and a failed read keeps what was known."""

from datetime import timedelta

import pytest

from activities.ports.errors import InvalidConfiguration, Unreachable
from activities.providers.hetzner.classes.catalogue import NotLookedUp
from activities.providers.hetzner.classes.check import OWN_CONDITIONS
from api.model import read
from api.v1alpha1.hetzner_node_class import HetznerNodeClass
from simulator.hetzner.faults import Fault
from tests.activities.providers.hetzner.scenes import READ_ONLY, START, TOKEN, ClassScene
from tests.builders import hetzner_node_class


@pytest.fixture
def scene():
    return ClassScene()


async def test_a_class_without_fault_is_ready_and_offers_the_catalogue_of_the_project(scene):
    status = await scene.look()
    assert scene.condition("Ready") == ("True", "Ready", "it offers servers in ash, fsn1, hel1, hil, nbg1, sin")
    assert [scene.condition(kind)[0] for kind in OWN_CONDITIONS[1:]] == ["True"] * 4
    assert (status.currency, status.read_at) == ("EUR", START)
    assert {place.name: place.network_zone for place in status.places}["sin"] == "ap-southeast"
    assert [f"{one.location} {one.price_per_hour}" for one in scene.offers("cx23")] == [
        "fsn1 0.0096",
        "nbg1 0.0096",
        "hel1 0.0096",
    ]
    assert [(image.architecture, image.name) for image in status.resolved.images] == [
        ("amd64", "debian-12"),
        ("arm64", "debian-12"),
    ]


async def test_a_wrong_token_is_told_after_one_call(scene):
    scene.token = "w" * 64
    status = await scene.look()
    assert scene.calls == 1
    kind, reason, message = scene.condition("Ready")
    assert (kind, reason) == ("False", "InvalidToken")
    assert message.startswith("spec.tokenSecretRef: Secret growth-system/hcloud, key token: ")
    assert "wwww" not in message
    assert status.read_at is None
    with pytest.raises(InvalidConfiguration, match=r"spec\.tokenSecretRef"):
        scene.offers()


async def test_a_token_that_is_withdrawn_keeps_the_prices_but_stops_buying(scene):
    before = await scene.look()
    scene.cloud.remove_token(TOKEN)
    after = await scene.look()
    assert scene.condition("Ready")[:2] == ("False", "InvalidToken")
    assert (after.server_types, after.read_at) == (before.server_types, before.read_at)


async def test_a_token_that_may_only_read_buys_nothing(scene):
    scene.token = READ_ONLY
    await scene.look()
    kind, reason, message = scene.condition("Ready")
    assert (kind, reason) == ("False", "ReadOnlyToken")
    assert message.startswith("spec.tokenSecretRef: the token in Secret growth-system/hcloud, key token may only read")
    with pytest.raises(InvalidConfiguration, match="may only read"):
        scene.offers()


@pytest.mark.parametrize(
    ("user_data", "part"),
    [
        ({"template": "{{ kubelet.args }} {{ token }}"}, "variable token"),
        # The template alone is short enough for the API server, and the text is longer than Hetzner takes.
        (
            {"template": "{{ kubelet.args }}" + "{{ big }}" * 9, "variables": {"big": {"value": "x" * 4000}}},
            "Hetzner takes at most 32768",
        ),
        (
            {"secretKeyRef": {"namespace": "a", "name": "boot", "key": "text"}},
            "spec.userData.secretKeyRef: Secret a/boot does not exist",
        ),
    ],
)
async def test_user_data_that_cannot_be_rendered_is_told(user_data, part):
    scene = ClassScene(userData=user_data)
    await scene.look()
    kind, reason, message = scene.condition("Ready")
    assert (kind, reason) == ("False", "InvalidUserData")
    assert message.startswith("spec.userData")
    assert part in message


async def test_a_new_price_and_a_withdrawn_type_show_with_the_next_look():
    scene = ClassScene(locations=["fsn1"])
    await scene.look()
    assert str(scene.offers("cx23")[0].price_per_hour) == "0.0096"
    scene.cloud.set_price("cx23", "fsn1", "0.0200", "12.49")
    scene.cloud.withdraw("cx33", "fsn1", START + timedelta(hours=1))
    scene.cloud.publish_available("cx43", "fsn1", False)
    scene.cloud.remove_price("cx53", "fsn1")
    scene.now += timedelta(minutes=10)
    await scene.look()
    assert str(scene.offers("cx23")[0].price_per_hour) == "0.0208"
    assert scene.offers("cx33")[0].available
    assert (scene.offers("cx43")[0].available, scene.offers("cx43")[0].is_doubtful) == (True, True)
    assert scene.offers("cx53") == []
    scene.now += timedelta(hours=1)
    (gone,) = scene.offers("cx33")
    assert (gone.available, gone.unavailable_because) == (False, "is no longer sold since 2026-11-01")


@pytest.mark.parametrize("verb", ["read_catalogue", "read_images", "read_firewalls", "any"])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "error", "status": 503, "code": "unavailable"},
        {"kind": "error", "status": 502},
        {"kind": "lost_request"},
        {"kind": "error", "status": 429, "code": "rate_limit_exceeded"},
    ],
)
async def test_a_read_that_fails_keeps_what_was_read_and_the_class_ready(verb, fault):
    scene = ClassScene(firewalls=["web"])
    scene.cloud.add_firewall("web")
    before = await scene.look()
    offered = scene.offers()
    scene.cloud.set_price("cx23", "fsn1", "0.0200", "12.49")
    broken = scene.cloud.faults.append(Fault(verb, times=None, **fault))
    scene.now += timedelta(minutes=10)
    after = await scene.look()
    assert broken.met
    assert scene.offers() == offered
    assert (after.read_at, after.resolved) == (before.read_at, before.resolved)
    assert scene.condition("Ready")[0] == "True"
    kind, reason, message = scene.condition("CatalogueRead")
    assert (kind, reason) == ("False", "RateLimited" if fault.get("status") == 429 else "UnknownOutcome")
    assert message
    scene.cloud.faults.clear()
    await scene.look()
    assert scene.condition("CatalogueRead")[0] == "True"
    assert scene.offers() != offered


async def test_a_spec_that_could_not_be_looked_up_is_not_bought_by(scene):
    await scene.look()
    scene.use_class(generation=2, image={"name": "debian-13"})
    fault = scene.fail("read_catalogue", "lost_request", times=None)
    await scene.look()
    kind, reason, message = scene.condition("Ready")
    assert (kind, reason) == ("False", "ProjectUnreachable")
    assert message.startswith("the project could not be looked up: ")
    with pytest.raises(NotLookedUp):
        scene.offers()
    scene.cloud.faults.remove(fault)
    scene.fail("read_catalogue", status=503, code="unavailable")
    await scene.look()
    assert scene.condition("Ready")[1] == "ProjectUnreachable"
    assert scene.condition("Ready")[2] != message
    await scene.look()
    assert scene.condition("Ready")[0] == "True"
    assert scene.offers()


async def test_a_fault_of_the_class_stays_told_while_the_project_does_not_answer():
    scene = ClassScene(firewalls=["web"])
    await scene.look()
    scene.fail("any", "lost_request", times=None)
    await scene.look()
    assert scene.condition("Ready")[1] == "FirewallNotFound"
    assert scene.condition("CatalogueRead")[0] == "False"


async def test_an_empty_catalogue_counts_as_not_read(scene, monkeypatch):
    before = await scene.look()
    monkeypatch.setattr(scene.cloud.catalogue, "types_json", list)
    after = await scene.look()
    assert after.server_types == before.server_types
    assert scene.condition("CatalogueRead") == ("False", "Unreadable", "Hetzner lists no server types or locations")


async def test_a_catalogue_that_no_status_can_hold_counts_as_not_read(scene, monkeypatch):
    before = await scene.look()
    kind = scene.cloud.catalogue.type_json("cx23")
    many = [{**kind, "id": number, "name": f"cx{number}"} for number in range(201)]
    monkeypatch.setattr(scene.cloud.catalogue, "types_json", lambda: many)
    after = await scene.look()
    assert after.server_types == before.server_types
    status, reason, message = scene.condition("CatalogueRead")
    assert (status, reason) == ("False", "Unreadable")
    assert "at most 200" in message
    assert "\n" not in message


async def test_what_was_learnt_of_the_class_is_left_alone(scene):
    learned = {"serverType": "cx23", "image": "1", "allocatable": {"cpu": "1"}, "lastSeenAt": "2026-11-01T11:00:00Z"}
    pause = {
        "message": "no more",
        "failures": 1,
        "lastFailureAt": "2026-11-01T11:00:00Z",
        "until": "2026-11-01T13:00:00Z",
    }
    miss = {
        "serverType": "cx23",
        "location": "fsn1",
        **{key: pause[key] for key in ("failures", "lastFailureAt", "until")},
    }
    other = {"type": "Other", "status": "True", "reason": "Other", "lastTransitionTime": "2026-11-01T11:00:00Z"}
    body = hetzner_node_class()
    body["status"] = {"learned": [learned], "pause": pause, "unavailable": [miss], "conditions": [other]}
    body["metadata"]["generation"] = 1
    scene.looked_up = read(HetznerNodeClass, body)
    before = scene.looked_up.status
    after = await scene.look()
    assert (after.learned, after.pause, after.unavailable) == (before.learned, before.pause, before.unavailable)
    assert after.conditions[0] == before.conditions[0]
    assert [each.type for each in after.conditions] == ["Other", *OWN_CONDITIONS]


async def test_a_condition_that_stays_as_it_was_keeps_its_time(scene):
    first = await scene.look()
    scene.now += timedelta(minutes=10)
    second = await scene.look()
    assert second.conditions == first.conditions
    assert second.read_at == first.read_at + timedelta(minutes=10)


async def test_a_kubernetes_api_that_does_not_answer_says_nothing_about_the_class(monkeypatch):
    scene = ClassScene(userData={"secretKeyRef": {"namespace": "a", "name": "boot", "key": "text"}})

    async def silent(*_, **__):
        raise Unreachable("no answer")

    monkeypatch.setattr(scene.cluster, "get", silent)
    with pytest.raises(Unreachable):
        await scene.look()
