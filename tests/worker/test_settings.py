import pytest
from pydantic import ValidationError

from worker.command_error import CommandError
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


def test_own_pods_stand_with_commas_between(monkeypatch):
    monkeypatch.setenv("GROWTH_OWN_PODS", "growth-system/growth-0, growth-system/temporal-0")
    assert load().own_pods == {"growth-system/growth-0", "growth-system/temporal-0"}


def test_each_wrong_value_is_one_line_with_its_name_and_variable():
    with pytest.raises(CommandError) as error:
        load(http_address="8080", log_format="xml", cluster="A b")
    assert error.value.code == 2
    lines = sorted(str(error.value).splitlines())
    assert [line.split(":")[0] for line in lines] == [
        "cluster (GROWTH_CLUSTER)",
        "http_address (GROWTH_HTTP_ADDRESS)",
        "log_format (GROWTH_LOG_FORMAT)",
    ]
    assert lines[2].endswith("not 'xml'")


def test_a_wrong_pod_name_is_refused(monkeypatch):
    monkeypatch.setenv("GROWTH_OWN_PODS", "growth-0")
    with pytest.raises(CommandError, match="GROWTH_OWN_PODS"):
        load()


def test_settings_do_not_change():
    with pytest.raises(ValidationError):
        load().cluster = "other"


def test_a_secret_is_not_shown():
    assert "hunter2" not in repr(load(temporal_api_key="hunter2"))


def test_each_cluster_has_its_task_queue():
    assert task_queue("a") != task_queue("b")
