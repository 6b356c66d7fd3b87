"""`growth plan` tells why each machine is of its type, and how long planning took."""

import json
import re

from tests.worker.commands.plan.test_command import NOW, PODS, POOL, growth, planned, written
from worker.commands.plan.command import plan

SCARCE = """
apiVersion: growth.dev/v1alpha1
kind: KwokNodeClass
metadata: {name: default}
spec:
  serverTypes:
    - {name: small, capacity: {cpu: 2, memory: 4Gi}, pricePerHour: "0.01", locations: [{name: a, available: false}]}
    - {name: large, capacity: {cpu: 4, memory: 8Gi}, pricePerHour: "0.03", locations: [{name: a}]}
    - {name: huge, capacity: {cpu: 8, memory: 8Gi}, pricePerHour: "0.07", locations: [{name: a}]}
---
apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata: {name: default}
spec: {serverTypes: [{name: small}, {name: large}, {name: huge}], limits: {max: 9}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{resources: {requests: {cpu: 1, memory: 3Gi}}}]}
"""


def test_what_is_scarce_is_told_where_it_would_have_been_bought(capsys, tmp_path):
    scarce = written(tmp_path, SCARCE)
    obstacle = {"code": "OfferingUnavailable", "message": "small in a is sold out, says the provider"}
    cheaper = {"serverType": "small", "location": "a", "pool": "default", "pricePerHour": "0.01", "obstacle": obstacle}
    assert planned(capsys, scarce)["requests"][0]["why"]["cheaper"] == cheaper
    assert plan(file=(scarce,), now=NOW) == 0
    told = capsys.readouterr().out
    assert "1 x  large  a         default    0.0300      21.90  memory 37 %  huge 0.0700  default/web\n" in told
    assert "\nFor 1 x large, small in a would be 0.02 cheaper, but is sold out, says the provider.\n" in told
    assert plan(file=(scarce,), now=NOW, explain="web") == 0
    assert (
        "For 1 pod of pool default: cpu 25 %, memory 37 %; small in a would be 0.02 cheaper, "
        "but is sold out, says the provider; next: huge for 0.07."
    ) in capsys.readouterr().out


def test_timing_is_told_beside_the_plan_and_only_where_it_is_asked_for(monkeypatch, capsys):
    quiet = growth(monkeypatch, capsys, "plan", "-f", POOL, "-f", PODS, "--now", NOW)
    code, out, err = growth(monkeypatch, capsys, "plan", "-f", POOL, "-f", PODS, "--now", NOW, "--timing")
    assert (code, out) == (0, quiet[1])
    assert "planned in" not in quiet[2]
    seconds = r"\d+\.\d{3}"
    parts = ", ".join(f"{stage} {seconds}" for stage in ("read", "assemble", "pack", "check", "decide"))
    assert re.fullmatch(rf"growth: planned in {seconds} s: {parts}\n", err)
    data = json.loads(growth(monkeypatch, capsys, "plan", "-f", POOL, "--now", NOW, "--timing", "-o", "json")[1])
    assert list(data["timing"]) == ["read", "assemble", "pack", "check", "decide"]
    assert all(0 <= number < 60 for number in data["timing"].values())
    code, _, err = growth(monkeypatch, capsys, "plan", "-f", POOL, "--timing", "--explain", "web")
    assert (code, err) == (2, "growth: --explain tells of one pod: leave out --timing\n")
