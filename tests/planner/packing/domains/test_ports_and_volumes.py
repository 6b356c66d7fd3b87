"""Host ports, volumes and matchFields. Source: kube-scheduler's plugins NodePorts, NodeVolumeLimits, VolumeBinding."""

from tests.builders import claim, csi_node, daemon_set, pod, volume
from tests.planner.packing.domains.rows import at, by_zone, codes, places, planned, scene, several
from tests.planner.reading import REQUIRED
from tests.planner.wishes import ZONE


def on_port(number: int, **more) -> list[dict]:
    return [
        {
            "name": "main",
            "resources": {"requests": {"cpu": "100m"}},
            "ports": [{"containerPort": 1, "hostPort": number} | more],
        }
    ]


def test_pods_with_one_port_need_a_machine_each():
    made = planned(scene(*several(3, containers=on_port(80))))
    assert len(made.requests) == 3


def test_another_port_protocol_or_address_shares():
    pods = [pod(n, containers=on_port(80, **more)) for n, more in {"a": {}, "b": {"protocol": "UDP"}}.items()]
    pods.append(pod("c", containers=on_port(81)))
    assert len(planned(scene(*pods)).requests) == 1


def test_a_port_that_is_taken_closes_a_node():
    made = planned(
        scene(pod("r", node="n", containers=on_port(80)), pod("a", containers=on_port(80)), nodes=[at("n", "fsn1")])
    )
    assert places(made) == {}
    assert len(made.requests) == 1


def test_a_port_that_every_new_machine_gives_away():
    made = planned(scene(pod("a", containers=on_port(80)), daemon_sets=[daemon_set("agent", containers=on_port(80))]))
    assert codes(made) == {"a": "HostPortTaken"}


def using(name: str, claimed: str, **more) -> dict:
    return pod(name, "100m", "64Mi", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": claimed}}], **more)


def test_a_pod_goes_where_its_volume_is():
    given = scene(using("a", "c0"), claims=[claim("c0", "pv0")], volumes=[volume("pv0", zone="hel1")])
    assert by_zone(planned(given)) == {"hel1": 1}


def test_a_volume_where_nothing_can_be_bought():
    given = scene(using("a", "c0"), claims=[claim("c0", "pv0")], volumes=[volume("pv0", zone="mars")])
    made = planned(given)
    assert codes(made) == {"a": "VolumeElsewhere"}
    assert made.unplaced[0].reasons[0].message == f"a volume of the pod can only be used where {ZONE} In mars"


def test_a_claim_that_does_not_exist():
    made = planned(scene(using("a", "gone")))
    assert codes(made) == {"a": "VolumeUnbound"}
    assert made.requests == ()


def test_a_node_at_its_attach_limit_takes_no_more():
    given = scene(
        using("r", "c0", node="n"),
        using("a", "c1"),
        using("b", "c2"),
        claims=[claim(f"c{k}", f"pv{k}") for k in range(3)],
        volumes=[volume(f"pv{k}", zone="fsn1") for k in range(3)],
        nodes=[at("n", "fsn1")],
        csi_nodes=[csi_node("n", 2)],
    )
    made = planned(given)
    assert list(places(made).values()) == ["n"]
    assert len(made.requests) == 1


def test_the_name_of_a_node():
    fields = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": fields}}}
    given = scene(pod("a", affinity=affinity), pod("b", affinity=affinity), nodes=[at("m", "fsn1"), at("n", "fsn1")])
    assert places(planned(given)) == {"a": "n", "b": "n"}
    given.nodes = [at("m", "fsn1")]
    assert set(codes(planned(given)).values()) == {"NoCompatibleOffering"}
