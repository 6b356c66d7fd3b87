"""What a class says of a text by which a Node cannot join as Growth's, and that it says nothing of what works."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from activities.objects.nodes import UNREGISTERED
from activities.ports.provider import ServerOrder
from activities.providers.hetzner.classes.join_text import Completeness, completeness
from activities.providers.hetzner.classes.user_data import check, given_values, render
from api.keys import LABEL_REQUEST, LABEL_REQUEST_UID
from api.v1alpha1.hetzner_node_class import HetznerKubelet
from simulator.apiserver.cluster import MemoryCluster
from tests.activities.providers.hetzner.scenes import ClassScene
from tests.activities.providers.hetzner.test_templates import TEMPLATES, class_of, cluster_with_secrets, objects
from tests.activities.providers.hetzner.test_user_data import of_text

ORDER = ServerOrder(
    name="shop-7d9f0a",
    server_type="cx23",
    location="nbg1",
    labels={},
    node_labels={LABEL_REQUEST: "shop-7d9f0a", LABEL_REQUEST_UID: "4f1c"},
    node_taints=[dict(UNREGISTERED)],
)
K3S = (
    "#!/bin/sh\nid=$(curl -sf http://169.254.169.254/hetzner/v1/metadata/instance-id)\n"
    "curl -sfL https://get.k3s.io | sh -s - agent --kubelet-arg=provider-id=hcloud://$id {{ k3s.args }}"
)
"""A text that lacks nothing: the hostname of a server is its name, and by default its Node's too."""


def judge(text: str) -> Completeness:
    return completeness(render(text, given_values(HetznerKubelet(), ORDER), {}), ORDER)


def outcome(text: str) -> str:
    judged = judge(text)
    return judged.reason if judged.status is not True else "True"


@pytest.mark.parametrize(
    "text",
    [
        K3S,
        f"{K3S} --node-name={{{{ node.name }}}}",
        f'{K3S} --node-name "{{{{ node.name }}}}"',
        f"{K3S} --node-name=$(hostname)",
        f'{K3S} --node-name "$HOSTNAME"',
        f"{K3S} --with-node-id=false",
        f"{K3S}\nhostnamectl set-hostname {{{{ node.name }}}}",
        K3S.replace("hcloud://$id", "hcloud://${id}"),
        K3S.replace("hcloud://$id", '"$PROVIDER"').replace("id=$(", "PROVIDER=hcloud://$(", 1),
        # Comments say how it must not be done.
        f"{K3S}\n# never --node-name=worker-1, --with-node-id or provider-id=hcloud://4711\n",
        f"{K3S} # not --node-name=worker-1",
        (
            "#cloud-config\npreserve_hostname: true\nruncmd:\n"
            "  - hostnamectl set-hostname $(curl http://169.254.169.254/hetzner/v1/metadata/hostname)\n"
            "  - k3s agent --kubelet-arg=cloud-provider=external {{ k3s.args }}\n"
        ),
        (
            '#cloud-config\nruncmd:\n  - [k3s, agent, --node-name, "{{ node.name }}"]\n'
            "  - echo cloud-provider=external\n"
            "  - [echo, {{ k3s.args }}]\n"
        ),
        (
            "#cloud-config\nhostname: {{ node.name }}\nfqdn: {{ node.name }}.example.com\n"
            "runcmd: ['kubelet --cloud-provider=external {{ node.labels }} {{ node.taints }}']\n"
        ),
        (
            "#cloud-config\nfqdn: {{ node.name }}.example.com\n"
            "runcmd: ['kubelet --cloud-provider=external {{ node.labels }} {{ node.taints }}']\n"
        ),
        # As a file of k3s and one of kubeadm.
        (
            "#!/bin/sh\ncat >/etc/rancher/k3s/config.yaml <<END\nnode-name: {{ node.name }}\nkubelet-arg:\n"
            "  - provider-id=hcloud://$ID\nEND\nk3s agent {{ k3s.args }}\n"
        ),
        (
            "#!/bin/sh\ncat >/join.yaml <<END\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
            "    - name: cloud-provider\n      value: external\n  name: {{ node.name }}\nEND\n"
            "echo KUBELET_EXTRA_ARGS={{ kubelet.args }}\n"
        ),
        # Braces of cloud-init's own.
        (
            "## template: jinja\n#cloud-config\nruncmd:\n"
            "  - kubelet --provider-id=hcloud://{{{{ v1.instance_id }} --hostname-override={{{{ v1.local_hostname }} "
            "{{ kubelet.args }}\n"
        ),
    ],
)
def test_what_works_is_complete(text: str):
    assert judge(text) == Completeness(True, "UserDataComplete", "")


@pytest.mark.parametrize("by", ["--node-name=worker-1", "--node-name worker-1", '--node-name="k8s-{{ node.name }}"'])
def test_a_node_of_another_name_is_told_with_what_names_it(by: str):
    assert judge(f"{K3S} {by}") == Completeness(
        False,
        "NodeNameDiffers",
        "spec.userData: by --node-name a Node has another name than its server, so it is not taken for the machine's, "
        "which is removed after scaleUp.joinTimeout: write {{ node.name }} alone there, or leave it out",
    )


CLOUD_CONFIG = (
    "#cloud-config\n{}\nruncmd: ['kubelet --cloud-provider=external {{{{ node.labels }}}} {{{{ node.taints }}}}']\n"
)


@pytest.mark.parametrize(
    ("text", "by"),
    [
        # Hetzner's own controller meets it too: hetznercloud/hcloud-cloud-controller-manager#703.
        (f"{K3S} --node-name={{{{ node.name }}}}.example.com", "--node-name"),
        # Source: k3s docs, "k3s agent", --with-node-id: appends an id to the name.
        (f"{K3S} --with-node-id", "with-node-id"),
        (f"{K3S} --node-name={{{{ node.name }}}} --with-node-id=true", "with-node-id"),
        (f"{K3S}\nK3S_NODE_NAME=worker", "K3S_NODE_NAME"),
        (f"{K3S}\nhostnamectl set-hostname worker", "set-hostname"),
        (CLOUD_CONFIG.format("hostname: worker"), "hostname"),
        (CLOUD_CONFIG.format("fqdn: worker.example.com"), "fqdn"),
        (CLOUD_CONFIG.format("prefer_fqdn_over_hostname: true\nfqdn: '{{ node.name }}.example.com'"), "fqdn"),
        (
            "#!/bin/sh\nkubelet --cloud-provider=external --hostname-override worker {{ kubelet.args }}",
            "--hostname-override",
        ),
        (
            (
                "#cloud-config\nruncmd:\n"
                "  - [k3s, agent, '--node-name', 'worker', '{{ node.labels }}', '{{ node.taints }}']\n"
            ),
            "--node-name",
        ),
        (
            (
                "#!/bin/sh\ncat >/join.yaml <<END\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
                "    - name: cloud-provider\n      value: external\n\n  name: worker\nEND\n{{ kubelet.args }}"
            ),
            "nodeRegistration.name",
        ),
    ],
)
def test_each_way_to_name_a_node_is_known(text: str, by: str):
    judged = judge(text)
    assert (judged.status, judged.reason) == (False, "NodeNameDiffers")
    assert f"by {by} a Node has another name" in judged.message


def test_names_of_other_things_are_not_those_of_nodes():
    # metadata.name follows a nodeRegistration that has none.
    text = f"{K3S}\ncat <<END\nnodeRegistration:\n  taints: []\nmetadata:\n  name: other\nEND\n"
    assert judge(text).status is True


@pytest.mark.parametrize(
    "wrong", ["hcloud://4711", "hcloud://{{ node.name }}", "hcloud://$(hostname)", "hcloud://$HOSTNAME"]
)
def test_a_provider_id_of_another_server_is_told(wrong: str):
    """Such a Node is another server's: `planner.objects.provider_ids.is_same_machine`."""
    judged = judge(K3S.replace("hcloud://$id", wrong))
    assert (judged.status, judged.reason) == (False, "ProviderIDDiffers")
    assert "http://169.254.169.254/hetzner/v1/metadata/instance-id" in judged.message


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\ncurl -sfL https://get.k3s.io | sh -s - agent {{ k3s.args }}",
        # kubernetes/autoscaler#5185 and #7337 tell of k3s:// and rke2://.
        "#!/bin/sh\nk3s agent --kubelet-arg=provider-id=k3s://{{ node.name }} {{ k3s.args }}",
        (
            "#!/bin/sh\ncurl -sfL https://get.rke2.io | INSTALL_RKE2_TYPE=agent sh -\n"
            "# provider-id=hcloud://$id\n{{ k3s.args }}"
        ),
        "#!/bin/sh\nkubeadm join {{ node.name }}\n# cloud-provider=external\n{{ kubelet.args }}",
    ],
)
def test_a_missing_provider_id_is_told_with_what_to_add(text: str):
    judged = judge(text)
    assert (judged.status, judged.reason) == (False, "ProviderIDMissing")
    assert "give the kubelet --provider-id=hcloud://ID" in judged.message
    assert "--cloud-provider=external" in judged.message


def test_a_taint_in_a_comment_alone_is_told():
    text = K3S.replace("{{ k3s.args }}", "--node-label={{ node.labels }}\n  # {{ node.taints }}")
    judged = judge(text)
    assert (judged.status, judged.reason) == (False, "TaintMissing")
    assert "{{ kubelet.args }}, {{ k3s.args }} or {{ node.taints }}" in judged.message


def test_missing_labels_are_told():
    judged = judge(K3S.replace("{{ k3s.args }}", "--node-taint={{ node.taints }}"))
    assert (judged.status, judged.reason) == (False, "LabelsMissing")
    assert "{{ kubelet.args }}, {{ k3s.args }} or {{ node.labels }}" in judged.message


def test_all_that_is_lacking_is_told_at_once_and_fits_a_condition():
    judged = judge(
        "#!/bin/sh\nkubeadm join --node-name worker 10.0.0.2:6443 --provider-id=hcloud://1\n# {{ node.taints }}"
    )
    assert judged.reason == "NodeNameDiffers"
    parts = ("another name", "another server's", "takes pods before", "no labels")
    assert [judged.message.index(part) for part in parts] == sorted(judged.message.index(part) for part in parts)
    # A condition's message has at most 1,024 characters.
    without = judge("#!/bin/sh\nkubeadm join --node-name worker 10.0.0.2:6443\n# {{ node.taints }}")
    assert max(len(judged.message), len(without.message)) <= 1024


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "#include\nhttps://example.com/join\n# {{ node.taints }}",
            "its first taint, its labels, its provider id and its server's name",
        ),
        (
            "#!/bin/sh\ncurl -sf https://example.com/join | sh -s - {{ kubelet.args }}",
            "its provider id and its server's name",
        ),
        ("#!/bin/sh\n/opt/join {{ node.name }} {{ kubelet.args }}", "its provider id"),
        # Talos, Ignition, and a file in base64.
        (
            "version: v1alpha1\nmachine:\n  type: worker\n  nodeTaints: '{{ node.taints }}'",
            "its labels, its provider id and its server's name",
        ),
        (
            '{"ignition": {"version": "3.4.0"}, "x": "get.k3s.io {{ node.taints }}"}',
            "its labels, its provider id and its server's name",
        ),
        (
            (
                "#cloud-config\nwrite_files:\n  - path: /join\n    encoding: b64\n    content: QUJD\n"
                "runcmd: ['K3S_URL=x /join {{ k3s.args }}']\n"
            ),
            "its provider id and its server's name",
        ),
        # The hostname stays that of the image.
        (CLOUD_CONFIG.format("preserve_hostname: true"), "its server's name"),
    ],
)
def test_what_stands_elsewhere_is_unseen_and_not_lacking(text: str, parts: str):
    assert judge(text) == Completeness(
        None,
        "NotInText",
        f"spec.userData: the text does not show whether the Node joins with {parts}: the script or image that starts "
        "the kubelet must see to it",
    )


def test_a_wrong_name_is_told_though_the_rest_is_elsewhere():
    assert outcome("#!/bin/sh\n/opt/join --node-name=worker {{ kubelet.args }}") == "NodeNameDiffers"


@pytest.mark.parametrize("name", TEMPLATES)
async def test_the_ready_made_templates_are_complete(name: str):
    assert (await check(await cluster_with_secrets(name), class_of(name))).status is True


@pytest.mark.parametrize(
    ("part", "without", "reason"),
    [
        ("{{ k3s.args }}", "{{ node.labels }}", None),
        ("provider-id=hcloud://$id", "x=y", "ProviderIDMissing"),
        ("--node-name={{ node.name }}", "--node-name=worker", "NodeNameDiffers"),
        ("{{ k3s.args }}", "--node-taint={{ node.taints }}", "LabelsMissing"),
    ],
)
async def test_a_template_without_a_part_of_it_is_told(part: str, without: str, reason: str | None):
    (item,) = objects("k3s.yaml")["HetznerNodeClass"]
    text = item["spec"]["userData"]["template"]
    assert part in text
    given_class = class_of("k3s.yaml")
    changed = given_class.spec.user_data.model_copy(update={"template": text.replace(part, without)})
    given_class = given_class.model_copy(update={"spec": given_class.spec.model_copy(update={"user_data": changed})})
    if reason is None:
        # Nothing else uses the taint: this one is refused, as it always was.
        with pytest.raises(Exception, match="the text uses none of"):
            await check(await cluster_with_secrets("k3s.yaml"), given_class)
    else:
        assert (await check(await cluster_with_secrets("k3s.yaml"), given_class)).reason == reason


async def test_values_are_judged_and_not_told():
    cluster = MemoryCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    given_class = of_text(f"{K3S} --node-name={{{{ prefix }}}}", prefix={"value": "s3cr3t"})
    judged = await check(cluster, given_class)
    assert judged.reason == "NodeNameDiffers"
    assert "s3cr3t" not in judged.message


def test_a_long_hostile_text_is_judged_at_once():
    """32 KiB of what patterns may stumble over; the limit of a test is a minute."""
    pieces = (
        "nodeRegistration:\n \t \n",
        "--node-name ",
        "provider-id",
        "provider-id ",
        "#",
        "k3s \"',",
        " #'\"",
        "\n",
        " ",
    )
    for piece in (*pieces, "hostnamectl ", "kubeadm ", "- encoding"):
        completeness(piece * (32 * 1024 // len(piece)), ORDER)


def test_an_order_of_another_name_is_another_name():
    text = render(f"{K3S} --node-name={{{{ node.name }}}}", given_values(HetznerKubelet(), ORDER), {})
    assert completeness(text, replace(ORDER, name="shop-other")).reason == "NodeNameDiffers"


async def test_a_class_that_lacks_something_stays_ready_and_says_so():
    scene = ClassScene(userData={"template": "#!/bin/sh\nk3s agent --node-name=worker {{ k3s.args }}"})
    await scene.look()
    assert scene.condition("Ready")[0] == "True"
    assert scene.offers()
    kind, reason, message = scene.condition("UserDataComplete")
    assert (kind, reason) == ("False", "NodeNameDiffers")
    assert "no provider id" in message


async def test_a_class_is_unknown_where_its_text_cannot_be_had():
    scene = ClassScene(userData={"secretKeyRef": {"namespace": "a", "name": "boot", "key": "text"}})
    await scene.look()
    assert scene.condition("Ready")[1] == "InvalidUserData"
    assert scene.condition("UserDataComplete") == ("Unknown", "InvalidUserData", "Ready says what is wrong with it")


async def test_a_text_that_is_mended_is_complete_with_the_next_look():
    scene = ClassScene(userData={"template": "#!/bin/sh\nk3s agent {{ k3s.args }}"})
    await scene.look()
    assert scene.condition("UserDataComplete")[1] == "ProviderIDMissing"
    scene.use_class(2, userData={"template": K3S})
    await scene.look()
    assert scene.condition("UserDataComplete") == ("True", "UserDataComplete", "")
