"""Each way in which a kubeconfig can be wrong, and the one line that says so."""

import asyncio
import logging
import os

import pytest
import yaml

from activities.kube.kubeconfig import Access, any_exists, client_complaints, read_kubeconfig
from activities.ports.errors import Rejected


def config(**changes):
    whole = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "shop"}},
            {"name": "there", "context": {"cluster": "c", "user": "u"}},
        ],
    }
    return yaml.safe_dump(whole | changes)


def user(**body):
    return config(users=[{"name": "u", "user": body}])


def cluster(**body):
    return config(clusters=[{"name": "c", "cluster": body}])


def context(**body):
    return config(contexts=[{"name": "here", "context": body}])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config"


def test_it_leads_to_the_current_context_or_the_one_that_is_named(path):
    path.write_text(config())
    assert read_kubeconfig(str(path), None) == Access(f"context here of {path}", "here", "shop")
    assert read_kubeconfig(str(path), "there") == Access(f"context there of {path}", "there", "default")


NO_CONFIG = " is no kubeconfig: it has no contexts; name another with --kubeconfig or KUBECONFIG"
PLUGIN = {"command": "no-such-plugin", "apiVersion": "client.authentication.k8s.io/v1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [1", ", line 1, column 6 is not YAML: expected"),
        ("", NO_CONFIG),
        ("nonsense", NO_CONFIG),
        ("[]", NO_CONFIG),
        ("clusters: []", " has no current context: choose one with --context; it has none"),
        (config(**{"current-context": None}), " has no current context: choose one with --context; it has here, there"),
        (
            config(**{"current-context": "gone"}),
            " has no context gone, which is its current one: choose one with --context; it has here, there",
        ),
        (config(contexts={}), " has no context here, which is its current one: choose one with --context; it has none"),
        (config(contexts="here"), ": contexts must be a list"),
        (config(contexts=["here"]), ": contexts[0] must have a name and a context"),
        (config(users=[{"name": "u", "user": "x"}]), ": users[0] must have a name and a user"),
        (context(cluster="d", user="u"), ", context here: it names cluster d, which the kubeconfig does not have"),
        (context(cluster="c", user="v"), ", context here: it names user v, which the kubeconfig does not have"),
        (context(cluster="c"), ", context here: it names no user"),
        (cluster(), ", context here: cluster c has no server: write its address, https://host:port"),
        (cluster(server="here:6443"), ", context here: cluster c has no server"),
        (
            cluster(server="https://x", **{"certificate-authority": "ca.crt"}),
            ", context here: cluster c: certificate-authority FOLDER/ca.crt cannot be read: No such file",
        ),
        (
            user(**{"client-key": "/no/such.key"}),
            ", context here: user u: client-key /no/such.key cannot be read: No such file",
        ),
        (
            user(exec=PLUGIN),
            ", context here: user u: its credentials come from the program no-such-plugin, which is not in PATH",
        ),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(path, content, message):
    path.write_text(content)
    with pytest.raises(Rejected) as refused:
        read_kubeconfig(str(path), None)
    message = message.replace("FOLDER", str(path.parent))
    assert str(refused.value).removeprefix("kubeconfig ").startswith(f"{path}{message}")
    assert "\n" not in str(refused.value)


def test_an_unknown_context_is_told_with_those_that_look_like_it_first(path):
    names = [f"c{number:02}" for number in range(12)]
    path.write_text(config(contexts=[{"name": name, "context": {}} for name in (*names, "payments")]))
    with pytest.raises(Rejected) as refused:
        read_kubeconfig(str(path), "payment")
    assert str(refused.value).endswith(
        "has no context payment: choose one with --context; "
        "it has payments, c00, c01, c02, c03, c04, c05, c06, c07, c08 and 3 more"
    )


def test_files_that_are_overridden_need_not_be_there(path):
    path.write_text(user(**{"tokenFile": "/no/such", "token": "t", "client-key": "/no", "client-key-data": "eA=="}))
    assert read_kubeconfig(str(path), None).context == "here"


def test_what_is_no_text_and_what_cannot_be_read_are_told(path):
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(Rejected, match=f"kubeconfig {path} is no text"):
        read_kubeconfig(str(path), None)
    with pytest.raises(Rejected, match=f"kubeconfig {path.parent} cannot be read: Is a directory"):
        read_kubeconfig(str(path.parent), None)


def test_of_more_files_the_first_to_name_a_thing_holds_and_missing_ones_are_passed_over(path, tmp_path):
    first = tmp_path / "first"
    first.write_text(
        "contexts: [{name: there, context: {cluster: c, user: u, namespace: mine}}]\ncurrent-context: there"
    )
    path.write_text(config())
    merged = os.pathsep.join(["/no/such", str(first), str(path)])
    assert read_kubeconfig(merged, None).namespace == "mine"
    assert read_kubeconfig(merged, "here").namespace == "shop"


def test_no_file_at_all_is_told_and_asked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("HOME")
    assert not any_exists("~nobody-of-that-name/config")
    assert any_exists(os.pathsep.join(["/no/such", str(tmp_path)]))
    with pytest.raises(Rejected) as refused:
        read_kubeconfig("/no/such", None)
    assert str(refused.value) == "there is no kubeconfig at /no/such: name one with --kubeconfig or KUBECONFIG"


async def test_what_the_client_only_logs_is_kept_for_the_load_that_it_is_about(capfd):
    client = logging.getLogger("kubernetes.aio.config.kube_config")

    async def load(name: str) -> list[str]:
        with client_complaints() as complaints:
            await asyncio.sleep(0)
            client.error("%s:\nno credentials", name)
            await asyncio.sleep(0)
            return complaints

    assert await asyncio.gather(load("a"), load("b")) == [["a: no credentials"], ["b: no credentials"]]
    client.error("of no load")
    assert capfd.readouterr().err == ""
