import re

from pages.metric_names import ESCALATOR, VPSIE
from pages.metrics import FILE, main, page
from worker.metrics import METRICS


def test_the_page_of_this_checkout_is_fresh():
    assert main(["--check"]) == 0, "run make drawings"
    assert FILE.name == "metrics.md"


def test_an_old_page_is_told_and_written_anew(tmp_path, capsys):
    file = tmp_path / "metrics.md"
    assert main(["--check"], file) == 1
    assert capsys.readouterr().err == f"{file} is not what the table of metrics says: run make drawings\n"
    assert main([], file) == 0
    assert main(["--check"], file) == 0


def test_each_metric_and_each_label_is_there_once_and_alerts_name_no_other():
    names, _, alerts = page().partition("## Alerts")
    rows = re.findall(r"^\| `(growth_\w+)` \| (?:counter|gauge|histogram) \|", names, re.MULTILINE)
    assert rows == [one.shown for one in METRICS]
    labels = re.findall(r"^\| `(growth_\w+)` \| `(\w+)` \|", names, re.MULTILINE)
    assert labels == [(one.shown, label) for one in METRICS for label in one.labels]
    assert set(re.findall(r"growth_\w+", alerts)) <= set(rows)


def test_no_alert_adds_up_what_two_clusters_say():
    """One that plans would hide one that does not."""
    _, _, alerts = page().partition("## Alerts")
    together = re.findall(r"\b(?:max|sum)\b(?: by \(([^)]*)\))?", alerts)
    assert len(together) == 7
    assert [by for by in together if "cluster" not in by.split(", ")] == []


def test_each_metric_says_what_it_is_for_and_no_label_names_a_pod_or_machine():
    assert all(one.use and one.help for one in METRICS)
    assert not {"pod", "node", "machine", "request", "name"} & {label for one in METRICS for label in one.labels}


def test_names_of_other_autoscalers_lead_to_metrics_that_there_are():
    shown = {one.shown for one in METRICS}
    for peer in (*ESCALATOR, *VPSIE):
        assert set(re.findall(r"growth_[a-z_]+", f"{peer.here} {peer.note}")) <= shown, peer
        assert peer.here or peer.note, peer
    names = [name for peers in (ESCALATOR, VPSIE) for peer in peers for name in peer.names]
    assert len(names) == len(set(names))


def test_each_metric_of_the_scaling_page_of_vpsie_has_an_equal():
    """Source: VPSie's `docs/` on its scaling algorithm, "Metrics"."""
    assert {name for peer in VPSIE if peer.here for name in peer.names} >= {
        "scaling_decisions_total",
        "scale_up_total",
        "scale_down_total",
        "scale_down_blocked_total",
        "node_provisioning_duration_seconds",
        "node_drain_duration_seconds",
    }
