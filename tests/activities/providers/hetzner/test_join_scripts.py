"""The scripts of deploy/hetzner on bad days: each step is limited, tried again, and said when it stays undone."""

import re
import shutil
import subprocess
import time
from datetime import timedelta
from pathlib import Path

import pytest

from api.v1alpha1.pool_parts.scale_up import ScaleUp
from tests.activities.providers.hetzner.join_script import HANG, ID, INSTALLER, PROGRAMS, Machine
from tests.activities.providers.hetzner.test_templates import JOIN, TEMPLATES, files, with_variants

LIMIT = 600
"""Seconds after which a script gives up, as it says itself."""
PAGE = "body '<!DOCTYPE html>' '<html><body>Sign in</body></html>'"
"""What answers in place of what was asked for: a proxy, a captive portal."""


async def script(name: str) -> str:
    return (await files(name))[JOIN]


def provider_id(name: str, machine: Machine) -> str:
    """Return the provider id that the kubelet was given."""
    (word,) = re.findall(r"provider-id=(\S+)", flags(name, machine))
    return word


def flags(name: str, machine: Machine) -> str:
    """Return the text that has the flags of the kubelet."""
    return machine.calls("install-k3s")[-1] if name == "k3s.yaml" else machine.read("etc/default/kubelet")


@pytest.mark.parametrize("name", TEMPLATES)
async def test_on_a_good_day_nothing_is_waited_for(name: str, tmp_path: Path):
    machine = Machine(tmp_path)
    assert machine.run(await script(name)) == 0
    assert machine.took == 0
    assert machine.said == ""
    assert provider_id(name, machine) == f"hcloud://{ID}"


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize(
    ("answers", "at_most"),
    [
        (["exit 22", "exit 22", f"body {ID}"], 5),
        # Nobody answers, or the way there is closed.
        ([HANG], 35),
        (["exit 7"], 10),
        # Something else answers: csi-driver PR#144 and open-horizon/anax#3503 tell of both.
        ([PAGE], 10),
        (["body ''"], 10),
        (["body not-found"], 10),
        (["body '{\"id\": 4711}'"], 10),
        (["body 0"], 10),
        (["body '4711 4712'"], 10),
        (["while echo 1; do :; done 2>/dev/null"], 10),
    ],
)
async def test_the_id_is_had_whatever_the_metadata_service_does(
    name: str, answers: list[str], at_most: int, tmp_path: Path
):
    machine = Machine(tmp_path, metadata=answers)
    assert machine.run(await script(name)) == 0
    assert machine.took <= at_most
    assert provider_id(name, machine) == f"hcloud://{ID}"
    if answers[-1] != f"body {ID}":
        assert "the metadata service does not tell the id" in machine.said


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("on_disk", [None, "iid-datasource-none", ""])
async def test_cloud_init_is_asked_when_its_file_tells_no_id(name: str, on_disk: str | None, tmp_path: Path):
    machine = Machine(tmp_path, metadata=[HANG], cloud_init=on_disk)
    machine.plan(cloud_init=["echo 4712"])
    assert machine.run(await script(name)) == 0
    assert machine.calls("cloud-init") == ["query instance_id"]
    assert provider_id(name, machine) == "hcloud://4712"


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("cloud_init", [["exit 1"], [HANG], [PAGE]])
async def test_without_any_id_it_says_so_and_fails(name: str, cloud_init: list[str], tmp_path: Path):
    machine = Machine(tmp_path, metadata=[PAGE], cloud_init=None)
    machine.plan(cloud_init=cloud_init)
    assert machine.run(await script(name)) != 0
    assert machine.said.splitlines()[-1].startswith("join-cluster: gave up with exit code")
    assert machine.said.rstrip().endswith("reading the id of the server")
    assert machine.took <= 60
    assert machine.calls("install-k3s") == machine.calls("kubeadm") == []


# What each template calls, and what the script says of it when it never works.
STEPS = {
    "k3s.yaml": {
        "installer": "installing k3s",
        "install-k3s": "installing k3s",
        "systemctl": "installing k3s",
    },
    "kubeadm.yaml": {
        "modprobe": "preparing the kernel",
        "sysctl": "preparing the kernel",
        "apt-get": "installing containerd",
        "containerd": "starting containerd",
        "systemctl": "starting containerd",
        "key": "adding the packages of Kubernetes",
        "gpg": "adding the packages of Kubernetes",
        "kubeadm": "joining the cluster",
    },
}
EVERY_STEP = [(name, program, step) for name in TEMPLATES for program, step in STEPS[name].items()]


@pytest.mark.parametrize(
    ("name", "program", "step", "fault"),
    [
        *((*each, HANG) for each in EVERY_STEP),
        ("k3s.yaml", "install-k3s", "installing k3s", "exit 100"),
        ("kubeadm.yaml", "modprobe", "preparing the kernel", "exit 100"),
    ],
)
async def test_a_step_that_never_works_ends_in_time_and_is_named(
    name: str, program: str, step: str, fault: str, tmp_path: Path
):
    machine = Machine(tmp_path)
    machine.plan(**{program: [fault]})
    assert machine.run(await script(name)) != 0
    assert machine.said.splitlines()[-1] == f"join-cluster: gave up with exit code 1: {step}"
    # A pause and the time that a program has to end are all that may come on top.
    assert LIMIT <= machine.took <= LIMIT + 10
    assert not (tmp_path / "var/lib/join-cluster.id").exists()


@pytest.mark.parametrize(("name", "program", "step"), EVERY_STEP)
@pytest.mark.parametrize("fault", [HANG, "exit 100"])
async def test_a_step_that_fails_twice_is_tried_again(name: str, program: str, step: str, fault: str, tmp_path: Path):
    machine = Machine(tmp_path)
    good = machine.read(f"plan-{program}/1") if (tmp_path / f"plan-{program}").exists() else ":"
    machine.plan(**{program: [fault, fault, good]})
    assert machine.run(await script(name)) == 0
    assert f"join-cluster: {step} failed, next try in 5 s" in machine.said
    assert machine.read("var/lib/join-cluster.id") == f"{ID}\n"


def test_a_script_gives_up_well_before_its_machine_is_removed():
    # Five minutes for the boot before it and the Node to be Ready after it.
    assert timedelta(seconds=LIMIT + 10) <= ScaleUp().join_timeout - timedelta(minutes=4)


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_script_says_how_long_it_tries(name: str):
    text = await script(name)
    assert f"end=$(($(uptime) + {LIMIT}))" in text
    assert "until ten\n# minutes have passed" in text


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_second_run_does_nothing(name: str, tmp_path: Path):
    machine = Machine(tmp_path)
    text = await script(name)
    assert machine.run(text) == 0
    before = machine.written()
    assert machine.run(text) == 0
    assert machine.said == f"join-cluster: server {ID} has joined already\n"
    # Nothing but the question who it is.
    assert {line.split()[0] for line in machine.read("calls").splitlines()} == {"curl"}
    assert machine.written() == before


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_run_after_one_that_failed_joins(name: str, tmp_path: Path):
    machine = Machine(tmp_path)
    text = await script(name)
    program = "install-k3s" if name == "k3s.yaml" else "kubeadm"
    machine.plan(**{program: [HANG]})
    assert machine.run(text) != 0
    machine.plan(**{program: [":"]})
    assert machine.run(text) == 0
    assert machine.read("var/lib/join-cluster.id") == f"{ID}\n"


@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_server_made_of_the_snapshot_of_a_node_joins_as_itself(name: str, tmp_path: Path):
    machine = Machine(tmp_path)
    text = await script(name)
    assert machine.run(text) == 0
    machine.plan(metadata=["body 4712"])
    assert machine.run(text) == 0
    assert provider_id(name, machine) == "hcloud://4712"
    assert machine.read("var/lib/join-cluster.id") == "4712\n"


@pytest.mark.parametrize(
    "instead",
    [
        PAGE,
        "body '<html><body>Bad gateway</body></html>'",
        "body 'Service unavailable'",
        "body ''",
        # Broken off within a function, and in a connection that says so.
        "body '#!/bin/sh' 'install() {' '  install-k3s'",
        "body '#!/bin/sh'; exit 18",
    ],
)
async def test_what_is_no_whole_installer_is_not_run_and_fetched_anew(instead: str, tmp_path: Path):
    machine = Machine(tmp_path, installer=[instead, INSTALLER])
    assert machine.run(await script("k3s.yaml")) == 0
    assert len(machine.calls("install-k3s")) == 1
    assert machine.took == 5


async def test_half_an_installer_that_does_nothing_is_noticed_by_what_is_missing(tmp_path: Path):
    # systemctl does not know the unit until it is installed.
    machine = Machine(tmp_path, installer=["body '#!/bin/sh' 'set -e'", INSTALLER], systemctl=["exit 5", ":"])
    assert machine.run(await script("k3s.yaml")) == 0
    assert len(machine.calls("install-k3s")) == 1


async def test_an_agent_that_no_server_lets_in_is_said(tmp_path: Path):
    """Source: k3s-io/k3s#11808 and #6879: the installer itself waits for the agent without end."""
    # The unit starts, and is-active says no.
    machine = Machine(tmp_path, systemctl=[":", "exit 3"])
    assert machine.run(await script("k3s.yaml")) != 0
    assert machine.said.splitlines()[-1] == "join-cluster: gave up with exit code 1: waiting for k3s-agent"
    assert machine.took <= LIMIT + 10
    assert machine.calls("systemctl")[0] == "restart --no-block k3s-agent"
    text = await script("k3s.yaml")
    assert text.index("INSTALL_K3S_SKIP_START=true") < text.index("install_k3s")


async def test_what_a_failed_join_left_is_cleared_before_the_next(tmp_path: Path):
    # As kubeadm does: what it wrote keeps the next join from its checks. Source: kubernetes/kubeadm#2218.
    join = 'case $1 in join) [ ! -e "$ROOT/left" ] && touch "$ROOT/left"; exit 1 ;; reset) rm "$ROOT/left" ;; esac'
    good = 'case $1 in join) [ ! -e "$ROOT/left" ] ;; reset) rm "$ROOT/left" ;; esac'
    machine = Machine(tmp_path, kubeadm=[join, join, good])
    assert machine.run(await script("kubeadm.yaml")) == 0
    config = f"join --config {tmp_path}/etc/kubernetes/join.yaml"
    reset = "reset --force --cri-socket unix:///run/containerd/containerd.sock"
    assert machine.calls("kubeadm") == [config, reset, config]


async def test_packages_are_installed_though_another_apt_holds_its_locks(tmp_path: Path):
    """apt-daily is at work at the first boot. apt-get can be told to wait for the lock of dpkg, but not for that of
    its lists: with apt 2.6, `apt-get -o DPkg::Lock::Timeout=5 update` gives up at once with code 100."""
    third = 'case "$*" in *update) n=$(cat "$ROOT/n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n >"$ROOT/n"'
    busy = f"{third}; [ $((n % 3)) = 0 ] || exit 100 ;; *Lock::Timeout=120*) ;; *) exit 100 ;; esac"
    machine = Machine(tmp_path, apt_get=[busy])
    assert machine.run(await script("kubeadm.yaml")) == 0
    wait = "-o DPkg::Lock::Timeout=120 install -y"
    assert machine.calls("apt-get") == [
        *["update"] * 3,
        f"{wait} containerd curl gpg",
        *["update"] * 3,
        f"{wait} kubelet=1.34.1-* kubeadm=1.34.1-*",
    ]


async def test_an_installation_that_was_stopped_half_way_is_ended_before_the_next_try(tmp_path: Path):
    # Source: dpkg refuses all else until `dpkg --configure -a` has run.
    half = 'case "$*" in *install*) touch "$ROOT/half"; hang ;; esac'
    good = 'case "$*" in *install*) [ ! -e "$ROOT/half" ] || exit 100 ;; esac'
    machine = Machine(tmp_path, apt_get=[":", half, good], dpkg=['rm -f "$ROOT/half"'])
    assert machine.run(await script("kubeadm.yaml")) == 0
    assert set(machine.calls("dpkg")) == {"--configure -a"}


@pytest.mark.parametrize("name", TEMPLATES)
async def test_the_private_network_is_waited_for_and_not_for_ever(name: str, tmp_path: Path):
    text = with_variants(await script(name))
    late = Machine(tmp_path, ip=[":", ":", "echo '3: enp7s0    inet 10.0.1.2/32 brd 10.0.1.2'"])
    assert late.run(text) == 0
    assert late.took == 10
    assert "--node-ip=10.0.1.2" in flags(name, late)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("fault", [":", "exit 1"])
async def test_a_private_network_that_never_comes_is_said(name: str, fault: str, tmp_path: Path):
    machine = Machine(tmp_path, ip=[fault])
    assert machine.run(with_variants(await script(name))) != 0
    assert machine.said.splitlines()[-1].endswith("waiting for the private network")
    assert machine.took <= LIMIT + 10


async def test_both_templates_share_the_same_beginning():
    k3s, kubeadm = [(await script(name)).partition("joined=/var/lib/join-cluster.id\n")[0] for name in TEMPLATES]
    assert k3s == kubeadm
    assert "read_id\n" in k3s


@pytest.mark.parametrize("name", TEMPLATES)
async def test_no_program_that_may_hang_is_run_without_a_limit(name: str):
    """Each call of a program is limited where it stands; curl has a limit of its own, or stands behind one."""
    free = {"sleep", "apt-mark", "timeout"}
    programs = "|".join(sorted(set(PROGRAMS) - free - {"install-k3s", "ip"}))
    for line in (await script(name)).splitlines():
        code = line.split(" #")[0].strip()
        if code.startswith("#"):
            continue
        for match in re.finditer(rf"(?:^|&& |\$\(|try '[^']*' )({programs}) ", code):
            assert "--max-time" in code, f"{match[1]} has no limit: {line}"


def run_here(script: str) -> tuple[int, str, float]:
    """Return exit code, what was said, and the seconds that it took."""
    began = time.monotonic()
    done = subprocess.run(["sh"], input=script, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr.splitlines()[-1], time.monotonic() - began


@pytest.mark.skipif(shutil.which("timeout") is None, reason="needs coreutils, as every server has")
@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_real_limit_ends_a_program_with_all_that_it_started(name: str):
    head = (await script(name)).partition("# The id of the server")[0].replace("uptime) + 600", "uptime) + 2")
    code, said, took = run_here(f"{head}try 'waiting for nothing' limit 300 sh -c 'sleep 300 & wait'\n")
    assert (code, said) == (1, "join-cluster: gave up with exit code 1: waiting for nothing")
    assert took < 30
