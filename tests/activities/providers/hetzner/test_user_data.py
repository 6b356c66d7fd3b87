"""The user data of a server: what is filled in, and what is refused before anything is bought."""

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.objects.nodes import UNREGISTERED
from activities.ports.cluster import CONFIG_MAPS, SECRETS
from activities.ports.errors import Forbidden, InvalidConfiguration, Rejected, Unreachable
from activities.ports.provider import ServerOrder
from activities.providers.hetzner.classes.catalogue import node_labels
from activities.providers.hetzner.classes.kubelet import k3s_args, kubelet_args
from activities.providers.hetzner.classes.user_data import check, given_values, render, user_data_of
from api.keys import LABEL_ARCH, LABEL_OS
from api.v1alpha1.hetzner_node_class import HetznerKubelet, HetznerNodeClass
from simulator.apiserver.cluster import MemoryCluster

ORDER = ServerOrder(
    name="shop-7d9f0a",
    server_type="cx23",
    location="nbg1",
    labels={"growth.dev/cluster": "c"},
    node_labels={"growth.dev/pool": "shop", "team": "a"},
    node_taints=[{"key": "dedicated", "value": "shop", "effect": "NoExecute"}, UNREGISTERED],
)
TAINTS = "dedicated=shop:NoExecute,growth.dev/unregistered:NoSchedule"
LABELS = (
    "csi.hetzner.cloud/location=nbg1,growth.dev/pool=shop,instance.hetzner.cloud/provided-by=cloud,"
    "node.kubernetes.io/instance-type=cx23,team=a,topology.kubernetes.io/region=nbg1"
)
SECRET = "s3cr3t-t0ken"
GIVEN = {"kubelet.args": "--max-pods=110", "node.name": "shop-1", "node.taints": TAINTS}


def node_class(user_data, **further):
    return HetznerNodeClass.model_validate(
        {
            "metadata": {"name": "eu"},
            "spec": {
                "tokenSecretRef": {"namespace": "growth-system", "name": "hcloud"},
                "image": {"name": "debian-13"},
                "userData": user_data,
                **further,
            },
        }
    )


def of_text(text, **variables):
    return node_class({"template": text, "variables": variables})


@pytest.fixture
def cluster():
    return MemoryCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))


async def add_secret(cluster, name="join", namespace="growth-system", **data):
    coded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    await cluster.create(
        SECRETS, {"metadata": {"name": name, "namespace": namespace}, "data": coded}, namespace=namespace
    )


async def add_config_map(cluster, name="texts", namespace="growth-system", **data):
    await cluster.create(
        CONFIG_MAPS, {"metadata": {"name": name, "namespace": namespace}, "data": data}, namespace=namespace
    )


def ref(kind, key, name, namespace="growth-system"):
    return {kind: {"namespace": namespace, "name": name, "key": key}}


async def refusal(cluster, wrong):
    with pytest.raises(InvalidConfiguration) as caught:
        await user_data_of(cluster, wrong, ORDER)
    message = str(caught.value)
    assert message.startswith("HetznerNodeClass eu: spec.userData")
    assert "\n" not in message
    with pytest.raises(InvalidConfiguration):
        await check(cluster, wrong)
    return message.removeprefix("HetznerNodeClass eu: ")


async def test_growth_gives_what_a_machine_needs_to_know(cluster):
    text = "|".join(
        f"{{{{ {name} }}}}"
        for name in ("node.name", "node.labels", "node.taints", "node.pool", "server.type", "location")
    )
    assert await user_data_of(cluster, of_text(text), ORDER) == f"shop-7d9f0a|{LABELS}|{TAINTS}|shop|cx23|nbg1"


async def test_flags_carry_the_labels_taints_and_settings(cluster):
    labels = dict(pair.split("=") for pair in LABELS.split(","))
    given_class = node_class({"template": "{{kubelet.args}}\n{{ k3s.args }}"}, kubelet={"maxPods": 44})
    rendered = await user_data_of(cluster, given_class, ORDER)
    kubelet = HetznerKubelet(max_pods=44)
    assert rendered == "\n".join(
        (kubelet_args(kubelet, labels, ORDER.node_taints), k3s_args(kubelet, labels, ORDER.node_taints))
    )
    assert f"--register-with-taints={TAINTS}" in rendered
    assert "--max-pods=44" in rendered


def test_labels_of_the_machine_are_those_that_plans_count_on():
    # One source: a Node that differs from its offering in silence takes other pods than planned.
    given_labels = dict(pair.split("=") for pair in given_values(HetznerKubelet(), ORDER)["node.labels"].split(","))
    set_by_kubelets = {LABEL_ARCH, LABEL_OS}
    planned = node_labels(ORDER.server_type, ORDER.location, "amd64")
    assert {**planned, **ORDER.node_labels} == {**given_labels, **{key: planned[key] for key in set_by_kubelets}}


async def test_values_come_from_the_class_from_secrets_and_from_config_maps(cluster):
    await add_secret(cluster, token=SECRET)
    await add_config_map(
        cluster, name="texts", body="{{node.taints}} {{ a }} {{ b-2 }} {{ c_3 }}", url="https://k:6443"
    )
    given_class = node_class(
        {
            **ref("configMapKeyRef", "body", "texts"),
            "variables": {
                "a": {"value": "plain"},
                "b-2": ref("secretKeyRef", "token", "join"),
                "c_3": ref("configMapKeyRef", "url", "texts"),
            },
        }
    )
    assert await user_data_of(cluster, given_class, ORDER) == f"{TAINTS} plain {SECRET} https://k:6443"


async def test_the_whole_text_can_be_a_secret(cluster):
    await add_secret(cluster, body="#!/bin/sh\njoin {{ node.taints }}\n")
    given_class = node_class(ref("secretKeyRef", "body", "join"))
    assert await user_data_of(cluster, given_class, ORDER) == f"#!/bin/sh\njoin {TAINTS}\n"
    await check(cluster, given_class)


async def test_a_renewed_secret_is_used_at_once(cluster):
    await add_secret(cluster, token="old")
    given_class = of_text("{{ node.taints }} {{ t }}", t=ref("secretKeyRef", "token", "join"))
    assert (await user_data_of(cluster, given_class, ORDER)).endswith(" old")
    coded = base64.b64encode(b"new").decode()
    await cluster.patch(
        SECRETS, "join", [{"op": "replace", "path": "/data/token", "value": coded}], namespace="growth-system"
    )
    assert (await user_data_of(cluster, given_class, ORDER)).endswith(" new")


async def test_each_object_is_read_once_so_that_its_keys_agree(cluster):
    await add_secret(cluster, a="1", b="2")
    reads = []

    class Counting:
        async def get(self, resource, name, *, namespace=None):
            reads.append((resource.kind, namespace, name))
            return await cluster.get(resource, name, namespace=namespace)

    given_class = of_text(
        "{{ node.taints }} {{ x }} {{ y }}",
        x=ref("secretKeyRef", "a", "join"),
        y=ref("secretKeyRef", "b", "join"),
    )
    assert (await user_data_of(Counting(), given_class, ORDER)).endswith(" 1 2")
    assert reads == [("Secret", "growth-system", "join")]


async def test_the_line_end_of_a_file_does_not_tear_a_line(cluster):
    # `kubectl create secret generic --from-file` keeps it.
    await add_secret(cluster, token=f"{SECRET}\r\n")
    given_class = of_text("{{ node.taints }} '{{ t }}'", t=ref("secretKeyRef", "token", "join"))
    assert (await user_data_of(cluster, given_class, ORDER)).endswith(f" '{SECRET}'")


def test_a_value_is_not_rendered_again():
    rendered = render("{{ node.taints }} {{ a }} {{ b }}", GIVEN, {"a": "{{ b }}", "b": "{{{{ x"})
    assert rendered == f"{TAINTS} {{{{ b }}}} {{{{{{{{ x"


def test_four_braces_stand_for_two():
    assert render("{{{{ v1.local_hostname }} {{node.taints}}", GIVEN, {}) == f"{{{{ v1.local_hostname }}}} {TAINTS}"
    assert render("{{{{.Names}}{{ node.taints }}", GIVEN, {}) == f"{{{{.Names}}}}{TAINTS}"


def test_single_braces_and_closing_ones_are_text():
    text = 'awk "{print}" ${x} }} { { {{ node.taints }}'
    assert render(text, GIVEN, {}) == f'awk "{{print}}" ${{x}} }}}} {{ {{ {TAINTS}'


_PIECES = st.one_of(
    st.tuples(st.just("text"), st.text(max_size=8).filter(lambda text: not {"{", "\0"} & set(text))),
    st.tuples(st.just("variable"), st.sampled_from(["node.name", "a"])),
    st.tuples(st.just("braces"), st.just("")),
)


@given(st.lists(_PIECES, max_size=8), st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_each_piece_of_a_text_is_rendered_by_itself(pieces, value):
    pieces = [("variable", "a"), ("variable", "node.taints"), *pieces]
    values = {**GIVEN, "a": value}
    written = {"text": "{}", "variable": "{{{{ {} }}}}", "braces": "{{{{{{{{"}
    text = "".join(written[kind].format(content) for kind, content in pieces)
    expected = [{"text": content, "variable": values.get(content), "braces": "{{"}[kind] for kind, content in pieces]
    assert render(text, GIVEN, {"a": value}) == "".join(expected)


@pytest.mark.parametrize(
    ("text", "variables", "message"),
    [
        (
            "{{ node.taints }} {{ tokn }}",
            {"token": {"value": SECRET}},
            (
                "spec.userData: the text uses the variable tokn, which neither Growth nor "
                "spec.userData.variables gives: did you mean token?"
            ),
        ),
        (
            "{{ node.taints }} {{ ds.meta_data.hostname }}",
            {},
            (
                "spec.userData: the text uses the variable ds.meta_data.hostname, which neither Growth nor "
                "spec.userData.variables gives: for braces of cloud-init's own, write {{{{ for {{"
            ),
        ),
        (
            "{{ node.taints }}",
            {"token": {"value": SECRET}},
            "spec.userData.variables.token: the text does not use this variable",
        ),
        (
            "{{ node.taints }} {{ location }}",
            {"location": {"value": SECRET}},
            "spec.userData.variables.location: Growth gives a variable of this name itself",
        ),
        (
            "join {{ node.labels }} {{ node.name }}",
            {},
            (
                "spec.userData: the text uses none of {{ kubelet.args }}, {{ k3s.args }} and {{ node.taints }}, "
                "so that machines would take pods before they are registered"
            ),
        ),
        (
            "{{{{ kubelet.args }}",
            {},
            (
                "spec.userData: the text uses none of {{ kubelet.args }}, {{ k3s.args }} and {{ node.taints }}, "
                "so that machines would take pods before they are registered"
            ),
        ),
        (
            "{{ node.taints }}\ndocker ps --format '{{.Names}}'",
            {},
            "spec.userData: line 2 of the text has braces that are no variable: write {{{{ where {{ itself is meant",
        ),
        (
            "{{ node.taints }} {{ a",
            {"a": {"value": SECRET}},
            "spec.userData: line 1 of the text has braces that are no variable: write {{{{ where {{ itself is meant",
        ),
        (
            "{{ node.taints }} {{ a }}",
            {"a": {"value": f"{SECRET}\0"}},
            "spec.userData.variables.a: its value has a NUL character",
        ),
        ("{{ node.taints }}\0", {}, "spec.userData: the text has a NUL character"),
        (
            "#cloud-config\nx: {{ node.taints }}\ny: '{{ a }}'\n",
            {"a": {"value": f"'{SECRET}: - ["}},
            (
                "spec.userData: with its variables filled in, the text is not valid YAML at line 3: "
                "a value of several lines must be coded, such as in base64"
            ),
        ),
        (
            "#cloud-config\n- {{ node.taints }}\n",
            {},
            "spec.userData: a text that begins with #cloud-config must be a mapping in YAML",
        ),
    ],
)
async def test_a_text_that_cannot_work_is_refused_by_name(cluster, text, variables, message):
    refused = await refusal(cluster, of_text(text, **variables))
    assert refused == message
    assert SECRET not in refused


async def test_a_pem_file_would_tear_the_cloud_config(cluster):
    pem = f"-----BEGIN CERTIFICATE-----\n{SECRET}\n-----END CERTIFICATE-----\n"
    await add_secret(cluster, ca=pem)
    text = "#cloud-config\nwrite_files:\n  - path: /ca\n    content: |\n      {{ ca }}\nruncmd: ['{{ node.taints }}']\n"
    refused = await refusal(cluster, of_text(text, ca=ref("secretKeyRef", "ca", "join")))
    assert "not valid YAML" in refused
    assert SECRET not in refused


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (
            ref("secretKeyRef", "token", "gone"),
            "spec.userData.variables.t.secretKeyRef: Secret growth-system/gone does not exist",
        ),
        (
            ref("configMapKeyRef", "token", "texts", namespace="other"),
            "spec.userData.variables.t.configMapKeyRef: ConfigMap other/texts does not exist",
        ),
        (
            ref("secretKeyRef", "tokn", "join"),
            "spec.userData.variables.t.secretKeyRef: Secret growth-system/join has no text under key tokn",
        ),
        (
            ref("configMapKeyRef", "tokn", "texts"),
            "spec.userData.variables.t.configMapKeyRef: ConfigMap growth-system/texts has no text under key tokn",
        ),
    ],
)
async def test_a_value_that_is_not_there_is_named(cluster, variable, message):
    await add_secret(cluster, token=SECRET)
    await add_config_map(cluster, url=SECRET)
    assert await refusal(cluster, of_text("{{ node.taints }} {{ t }}", t=variable)) == message


async def test_a_secret_that_is_no_text_is_named(cluster):
    body = {
        "metadata": {"name": "raw", "namespace": "growth-system"},
        "data": {"t": base64.b64encode(b"\xff").decode()},
    }
    await cluster.create(SECRETS, body, namespace="growth-system")
    refused = await refusal(cluster, of_text("{{ node.taints }} {{ t }}", t=ref("secretKeyRef", "t", "raw")))
    assert refused == "spec.userData.variables.t.secretKeyRef: Secret growth-system/raw has no text under key t"


async def test_a_missing_text_is_named(cluster):
    refused = await refusal(cluster, node_class(ref("configMapKeyRef", "body", "gone")))
    assert refused == "spec.userData.configMapKeyRef: ConfigMap growth-system/gone does not exist"


class Failing:
    """A cluster that answers every get with an error."""

    def __init__(self, error):
        self._error = error

    async def get(self, *_, **__):
        raise self._error


async def test_a_missing_right_is_named():
    error = Forbidden(
        "403", user="system:serviceaccount:growth-system:growth", verb="get", resource="secrets", advice=""
    )
    given_class = of_text("{{ node.taints }} {{ t }}", t=ref("secretKeyRef", "t", "join", namespace="shop"))
    assert await refusal(Failing(error), given_class) == (
        "spec.userData.variables.t.secretKeyRef: system:serviceaccount:growth-system:growth may not get Secret "
        "shop/join: grant that by a Role in namespace shop with resources: [secrets], resourceNames: [join] and "
        "verbs: [get], bound to that account, as deploy/hetzner/k3s.yaml does"
    )


async def test_a_refusal_of_the_api_server_is_told_with_the_field():
    given_class = of_text("{{ node.taints }} {{ t }}", t=ref("secretKeyRef", "t", "join"))
    refused = await refusal(Failing(Rejected("get: the API server does not accept these credentials")), given_class)
    assert refused == "spec.userData.variables.t.secretKeyRef: get: the API server does not accept these credentials"


async def test_a_silent_api_server_is_no_fault_of_the_class():
    given_class = of_text("{{ node.taints }} {{ t }}", t=ref("secretKeyRef", "t", "join"))
    with pytest.raises(Unreachable):
        await user_data_of(Failing(Unreachable("no answer")), given_class, ORDER)


async def test_the_limit_counts_bytes_and_the_values(cluster):
    """Source: Hetzner Cloud API, "Create a Server": user_data has at most 32 KiB."""
    room = 32 * 1024 - len(TAINTS)
    await add_secret(cluster, fits="ä" * (room // 2), over="ä" * (room // 2 + 1))
    fitting = of_text("{{node.taints}}{{ t }}", t=ref("secretKeyRef", "fits", "join"))
    assert len((await user_data_of(cluster, fitting, ORDER)).encode()) in {32 * 1024, 32 * 1024 - 1}
    over = of_text("{{node.taints}}{{ t }}", t=ref("secretKeyRef", "over", "join"))
    with pytest.raises(InvalidConfiguration, match=r"the text has 32769 bytes: Hetzner takes at most 32768"):
        await user_data_of(cluster, over, ORDER)


async def test_the_check_counts_with_names_as_long_as_they_come(cluster):
    text = "{{node.taints}}" + "{{node.labels}}" * 100
    filling = 32 * 1024 - len(await user_data_of(cluster, of_text(text), ORDER))
    near = of_text(text + "x" * filling)
    assert len(await user_data_of(cluster, near, ORDER)) == 32 * 1024
    with pytest.raises(InvalidConfiguration, match="at most 32768"):
        await check(cluster, near)
