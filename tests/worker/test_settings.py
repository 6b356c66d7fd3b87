import pytest
from pydantic import ValidationError

from activities.providers.hetzner.provider import DEFAULT_ENDPOINT
from worker.errors import CommandError
from worker.settings import Settings, load, task_queue


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in list(Settings.model_fields):
        monkeypatch.delenv(f"GROWTH_{name.upper()}", raising=False)


def test_the_environment_is_read_and_options_go_first(monkeypatch):
    monkeypatch.setenv("GROWTH_CLUSTER", "prod")
    monkeypatch.setenv("GROWTH_EMBEDDED_TEMPORAL", "true")
    settings = load(cluster="test")
    assert settings.cluster == "test"
    assert settings.embedded_temporal is True


def test_simulated_machines_are_bought_beside_real_nodes_only_where_a_setting_says_so(monkeypatch):
    assert load().simulated_machines is False
    assert load(simulated_machines=True).simulated_machines is True
    monkeypatch.setenv("GROWTH_SIMULATED_MACHINES", "true")
    assert load().simulated_machines is True


def test_own_pods_stand_with_commas_between(monkeypatch):
    monkeypatch.setenv("GROWTH_OWN_PODS", "growth-system/growth-0, growth-system/temporal-0")
    assert load().own_pods == {"growth-system/growth-0", "growth-system/temporal-0"}


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("CLUSTER", "A b", "must be at most 63 lower-case letters, digits and hyphens, not 'A b'"),
        ("HTTP_ADDRESS", "8080", "must be host:port, such as localhost:7233, with a port up to 65535, not '8080'"),
        (
            "HTTP_ADDRESS",
            "here:65536",
            "must be host:port, such as localhost:7233, with a port up to 65535, not 'here:65",
        ),
        (
            "HCLOUD_ENDPOINT",
            "api.hetzner.cloud/v1",
            "must be a URL such as https://api.hetzner.cloud/v1, without a slash",
        ),
        ("HCLOUD_ENDPOINT", "ftp://here/v1", "must be a URL such as https://api.hetzner.cloud/v1"),
        ("HCLOUD_ENDPOINT", "https://here/v1/", "must be a URL such as https://api.hetzner.cloud/v1"),
        ("HCLOUD_ENDPOINT", "https://user:password@here/v1", "must be a URL such as https://api.hetzner.cloud/v1"),
        ("LOG_FORMAT", "xml", "must be 'auto', 'console' or 'json', not 'xml'"),
        ("EMBEDDED_TEMPORAL", "jein", "must be true or false, not 'jein'"),
        ("EMBEDDED_PORT", "http", "must be a whole number, not 'http'"),
        ("EMBEDDED_PORT", "-1", "must be at least 0, not '-1'"),
        ("EMBEDDED_UI_PORT", "65536", "must be at most 65535, not '65536'"),
        ("OWN_PODS", "growth-0", "each pod must be namespace/name, not 'growth-0'"),
        ("TEMPORAL_NAMESPACE", "n" * 256, "string should have at most 255 characters"),
    ],
)
def test_a_wrong_variable_is_one_line_with_its_name_and_rule(monkeypatch, variable, value, line):
    monkeypatch.setenv(f"GROWTH_{variable}", value)
    with pytest.raises(CommandError) as error:
        load()
    assert error.value.code == 2
    assert str(error.value).startswith(f"GROWTH_{variable}: {line}")
    assert "\n" not in str(error.value)


def test_each_wrong_option_is_a_line_of_its_own():
    with pytest.raises(CommandError) as error:
        load(http_address="8080", log_format="xml")
    assert sorted(line.partition(":")[0] for line in str(error.value).splitlines()) == [
        "--http-address",
        "--log-format",
    ]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"temporal_tls_ca": "ca.pem"}, "GROWTH_TEMPORAL_TLS_CA is used with GROWTH_TEMPORAL_TLS=true only"),
        (
            {"temporal_tls": True, "temporal_tls_key": "key.pem"},
            "GROWTH_TEMPORAL_TLS_CERT and GROWTH_TEMPORAL_TLS_KEY go together",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_told_without_a_value(given, line):
    with pytest.raises(CommandError) as error:
        load(**given)
    assert str(error.value) == line


@pytest.mark.parametrize(
    ("given", "uses_tls"),
    [
        ({}, False),
        ({"temporal_tls": True}, True),
        ({"temporal_api_key": "hunter2"}, True),
        ({"temporal_api_key": "hunter2", "temporal_tls_ca": "ca.pem"}, True),
        # Behind a proxy on this machine, which speaks TLS itself.
        ({"temporal_api_key": "hunter2", "temporal_tls": False}, False),
    ],
)
def test_an_api_key_implies_tls(given, uses_tls):
    assert load(**given).uses_tls is uses_tls


def test_a_variable_that_is_nearly_a_setting_is_told_with_it(monkeypatch):
    monkeypatch.setenv("GROWTH_CLUSTR", "x")
    monkeypatch.setenv("GROWTH_TEMPORAL_ADRESS", "here:7233")
    with pytest.raises(CommandError) as error:
        load()
    assert error.value.code == 2
    assert str(error.value).splitlines() == [
        "GROWTH_CLUSTR is no setting: did you mean GROWTH_CLUSTER?",
        "GROWTH_TEMPORAL_ADRESS is no setting: did you mean GROWTH_TEMPORAL_ADDRESS?",
    ]


def test_variables_of_others_are_left_alone(monkeypatch):
    # Kubernetes sets these in every pod beside a Service named growth, and beside one named growth-temporal.
    for name in ("GROWTH", "GROWTH_TEMPORAL"):
        monkeypatch.setenv(f"{name}_SERVICE_HOST", "10.0.0.7")
        monkeypatch.setenv(f"{name}_SERVICE_PORT", "8080")
        monkeypatch.setenv(f"{name}_SERVICE_PORT_HTTP", "8080")
        monkeypatch.setenv(f"{name}_PORT", "tcp://10.0.0.7:8080")
        monkeypatch.setenv(f"{name}_PORT_8080_TCP", "tcp://10.0.0.7:8080")
        monkeypatch.setenv(f"{name}_PORT_8080_TCP_PROTO", "tcp")
        monkeypatch.setenv(f"{name}_PORT_8080_TCP_PORT", "8080")
        monkeypatch.setenv(f"{name}_PORT_8080_TCP_ADDR", "10.0.0.7")
    monkeypatch.setenv("GROWTH_IMAGE", "growth:0.1.0")
    assert load().cluster == "default"


def test_an_empty_variable_is_none(monkeypatch):
    monkeypatch.setenv("GROWTH_TEMPORAL_ADDRESS", "")
    monkeypatch.setenv("GROWTH_KUBECONFIG", "")
    assert (load().temporal_address, load().kubeconfig) == ("localhost:7233", None)


def test_settings_do_not_change():
    with pytest.raises(ValidationError):
        load().cluster = "other"


def test_a_secret_is_not_shown():
    assert "hunter2" not in repr(load(temporal_api_key="hunter2"))


def test_each_cluster_has_its_task_queue():
    assert task_queue("a") != task_queue("b")


@pytest.mark.parametrize("url", ["https://api.hetzner.cloud/v1", "http://127.0.0.1:8080/v1", "https://proxy.example"])
def test_the_address_of_the_cloud_is_a_url(monkeypatch, url):
    monkeypatch.setenv("GROWTH_HCLOUD_ENDPOINT", url)
    assert load().hcloud_endpoint == url


def test_the_address_of_the_cloud_is_that_of_its_provider():
    assert load().hcloud_endpoint == DEFAULT_ENDPOINT
