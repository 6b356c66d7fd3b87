"""Runs a template's script in a shell, with other programs in place of those that would change the machine.

Time is a number in a file, which only waiting moves: a script that would wait for ten minutes ends at once. What a
program does is a line of shell for each of its calls, the last one for all further calls.
"""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

STARTED = 30
"""Seconds since the boot when the script begins."""
HANG = "hang"
"""A line of shell: nothing comes back until somebody's time limit ends it."""
ID = "4711"
_FOLDERS = ("etc/apt/sources.list.d", "etc/default", "run", "proc", "var/lib/cloud/data")
_OWN = re.compile(r"(?<![\w./])/(?=(?:etc|run|proc|var/lib)/)")
"""Where the script reads or writes the machine's own files."""
# Each program's name with its words is a line in `calls`. What answers at which address is told apart by the address.
_PROGRAM = r"""#!/bin/sh
name=${0##*/}
echo "$name $*" >>"$ROOT/calls"
advance() { echo "$(($(cut -d. -f1 "$ROOT/proc/uptime") + $1)).00 0.00" >"$ROOT/proc/uptime"; }
after() { while [ $# -gt 1 ]; do [ "$1" = "$option" ] && { echo "$2"; return; }; shift; done; }
target='' own=''
if [ "$name" = curl ]; then
  option=-o target=$(after "$@")
  option=--max-time own=$(after "$@")
  case $* in
  *169.254.169.254*) name=metadata ;;
  *get.k3s.io*) name=installer ;;
  *Release.key*) name=key ;;
  esac
fi
hang() {
  limit=${LIMIT:-} code=124
  [ -z "$own" ] || { limit=$own code=28; }
  [ -n "$limit" ] || { echo "$name" >>"$ROOT/endless"; exit 99; }
  advance "$limit"
  exit "$code"
}
body() { if [ -n "$target" ]; then printf '%s\n' "$@" >"$target"; else printf '%s\n' "$@"; fi; }
case $name in
timeout)
  [ "$1" = -k ] && shift 2
  LIMIT=$1
  export LIMIT
  shift
  exec "$@"
  ;;
sleep) advance "$1" ;;
*)
  number=$(($(cat "$ROOT/number-$name" 2>/dev/null || echo 0) + 1))
  echo "$number" >"$ROOT/number-$name"
  last=$(cat "$ROOT/plan-$name/last" 2>/dev/null || echo 0)
  [ "$number" -le "$last" ] || number=$last
  [ "$last" = 0 ] || . "$ROOT/plan-$name/$number"
  ;;
esac
"""
PROGRAMS = (
    "apt-get",
    "apt-mark",
    "cloud-init",
    "containerd",
    "curl",
    "dpkg",
    "gpg",
    "install-k3s",
    "ip",
    "kubeadm",
    "modprobe",
    "sleep",
    "sysctl",
    "systemctl",
    "timeout",
)
INSTALLER = """body '#!/bin/sh' 'exec install-k3s "$@"'"""
"""A line of shell: the installer of k3s comes whole."""
USUAL: Mapping[str, Sequence[str]] = {
    "metadata": [f"body {ID}"],
    "installer": [INSTALLER],
    "key": ["body key"],
    "ip": ["echo '3: enp7s0    inet 10.0.1.2/32 brd 10.0.1.2 scope global dynamic enp7s0'"],
    "containerd": ["echo 'SystemdCgroup = false'"],
}
"""What programs do on a good day; those that are not named succeed and say nothing."""


class Machine:
    """A machine on which a script runs, maybe several times."""

    def __init__(self, root: Path, *, cloud_init: str | None = ID, **plans: Sequence[str]) -> None:
        self.root = root
        for folder in (*_FOLDERS, "programs", "temporary"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            program = root / "programs" / name
            program.write_text(_PROGRAM)
            program.chmod(0o755)
        self.plan(**{**USUAL, "cloud_init": ["exit 1"], **plans})
        if cloud_init is not None:
            (root / "var/lib/cloud/data/instance-id").write_text(f"{cloud_init}\n")
        self.said = ""
        self.printed = ""
        self.took = 0

    def plan(self, **plans: Sequence[str]) -> None:
        """Let programs do this from now on, by name with _ for -, from the first line of each."""
        for name, lines in plans.items():
            folder = self.root / f"plan-{name.replace('_', '-')}"
            folder.mkdir(exist_ok=True)
            for number, line in enumerate(lines, 1):
                (folder / str(number)).write_text(f"{line}\n")
            (folder / "last").write_text(f"{len(lines)}\n")
            (self.root / f"number-{folder.name.removeprefix('plan-')}").unlink(missing_ok=True)

    def run(self, script: str) -> int:
        """Run the script from a boot on, and return its exit code."""
        (self.root / "proc/uptime").write_text(f"{STARTED}.12 0.00\n")
        (self.root / "calls").write_text("")
        own = _OWN.sub(f"{self.root}/", script)
        environment = {
            "PATH": f"{self.root}/programs:{os.environ['PATH']}",
            "ROOT": str(self.root),
            "TMPDIR": str(self.root / "temporary"),
        }
        done = subprocess.run(["sh"], input=own, env=environment, capture_output=True, text=True, check=False)
        self.said, self.printed = done.stderr, done.stdout
        self.took = int(self.read("proc/uptime").partition(".")[0]) - STARTED
        assert not (self.root / "endless").exists(), f"without a limit: {self.read('endless')}"
        return done.returncode

    def read(self, path: str) -> str:
        """Return the text of a file of the machine."""
        return (self.root / path).read_text()

    def written(self) -> dict[Path, bytes]:
        """Return what is in the files below etc."""
        return {path: path.read_bytes() for path in self.root.rglob("etc/**/*") if path.is_file()}

    def calls(self, program: str) -> list[str]:
        """Return the words of each call of a program in the last run."""
        lines = self.read("calls").splitlines()
        return [line.removeprefix(f"{program} ") for line in lines if line.startswith(f"{program} ")]
