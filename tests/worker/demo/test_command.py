"""`growth demo` as a person runs it: in a process of its own, to its end or to a signal."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.project.image import build_wheel, hostile_folder, install

COMMAND = [sys.executable, "-c", "from worker.cli import main; main()", "demo"]


def environment(folder):
    # The demo's temporary folder is made in here, so what it leaves can be told from others'.
    return os.environ | {"TMPDIR": str(folder), "PYTHONPATH": ".", "COLUMNS": "80"}


def left_over(folder):
    """Return files in the folder, and command lines of processes that name it."""
    found = [str(path) for path in folder.iterdir()]
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = command_line.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in text:
            found.append(text)
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The program of an installed wheel."""
    return install(build_wheel(tmp_path_factory.mktemp("wheel")), tmp_path_factory.mktemp("installed")) / "growth"


def test_the_demo_of_an_installation_shows_each_step_and_leaves_nothing(installed, tmp_path, tmp_path_factory):
    """In a folder with packages of the rooms' names, which PYTHONPATH names too: workflows are loaded in a sandbox."""
    hostile = hostile_folder(tmp_path_factory.mktemp("hostile"))
    began = time.monotonic()
    done = subprocess.run(
        [str(installed), "demo"],
        cwd=hostile,
        env=environment(tmp_path) | {"PYTHONPATH": str(hostile)},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 90
    told = done.stdout
    expected = (
        r"Temporal UI while it runs: http://127\.0\.0\.1:\d+/namespaces/growth/workflows",
        r"1\. 41 pods arrive, and there is no machine",
        r"2\. Growth plans all of them at once and buys; one offering turns out to be sold out",
        r" \+ default-\S+ cx53 in fsn1 at 0\.0473 EUR/h\. For \d+ pods of pool default: cpu \d+ %, memory \d+ %",
        r" ✗ default-\S+ creation of a cx53 in fsn1: sold out; not asked for again before ..:..:.. UTC",
        r"  ✓ cx53 in fsn1 had no capacity; its pods were planned anew, onto what can be had",
        r"3\. Machines boot and join, each kept for the pods it was bought for",
        r"  ✓ 41 of 41 pods run, each on the machine that was bought for it",
        r"4\. What others' rules buy for the same pods",
        r"Growth, as bought +41 +\d+ +0\.1\d+",
        r"Karpenter's rules +41 +\d+ +0\.\d+ +\+\d+ %",
        r"Cluster Autoscaler's rules, price +41 +\d+ +0\.\d+ +\+\d+ %",
        r"no plan can cost less than +0\.1\d+ +[+-]\d+ %",
        r"5\. Evening: 17 pods are left; some are moved, so that less is paid for all of them",
        r" ~ (default-\S+) Saves \d+\.\d\d EUR a month: this machine goes",
        r" - default-\S+ The node is empty after its pods have left: delete it",
        r"  \$ kubectl patch nodepool\.growth\.dev default --type=merge -p '\{.*\"consolidate\":null\}\}\}'",
        r" - default-\S+ The server no longer exists",
        r"17 of 17 pods run · \d+ machines · €0\.0\d+/h",
        r"  ✓ 17 pods run for €0\.0\d+/h; before, it was €0\.1\d+/h",
        r"6\. The rest of the load leaves; empty machines take no new pods and cool off",
        r"7\. 4 pods come back: a machine that cools off is taken back, none is bought",
        r" ↩ (default-\S+) Cancelled by Planner: Wanted again by default/web-\d+",
        r"8\. A person steps in: one of the others shall stay, too",
        r"  \$ growth removals cancel (default-\S+) --reason",
        r"9\. What stayed empty is deleted; one server refuses to die",
        r" ‖ (default-\S+) The server still exists after 2 delete calls",
        r"10\. The cloud is mended, and a person replays the parked removal",
        r"  \$ growth removals retry (default-\S+)",
        r"4 of 4 pods run · 2 machines · €0\.0\d+/h",
        r"11\. Summary",
        r"  ✓ \d+ machines bought, \d+ removed; the provider has exactly the 2 that stay",
        r"  ✓ default-\S+ went when its pods had moved: Saves \d+\.\d\d EUR a month",
        r"Took \d+ s\.",
    )
    at = 0
    for pattern in expected:
        found = re.compile(pattern).search(told, at)
        assert found, f"{pattern} after {told[:at][-200:]!r} in {told}"
        at = found.end()
    assert "\x1b" not in told
    assert done.stderr == ""
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing(tmp_path, number):
    with subprocess.Popen(
        COMMAND, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        before: list[str] = []
        for line in process.stdout:
            before.append(line)
            if line.startswith("2. "):
                break
        process.send_signal(number)
        told, complaints = process.communicate(timeout=60)
        assert process.returncode == 130, "".join(before) + told + complaints
    assert "Interrupted: everything is stopped and removed." in told
    assert complaints == ""
    assert left_over(tmp_path) == []


def test_a_seed_that_is_no_number_is_one_line(tmp_path):
    done = subprocess.run(
        [*COMMAND, "--seed", "many"], env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "many" in done.stderr
