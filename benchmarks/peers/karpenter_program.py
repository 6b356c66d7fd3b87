"""Karpenter's own scheduler, run on a problem's file by a small Go program (benchmarks/peers/karpenter_real).

The program builds Pods, NodePools and instance types from the file, calls the scheduler as Karpenter's
provisioner does, and takes for each machine the cheapest offering that is left for it.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.answer import PackingAnswer, read_answer
from benchmarks.catalogue import CatalogueMachine
from benchmarks.instance import DEDICATED
from benchmarks.problem_file import ProblemPool
from simulator.peers.problem import PeerProblem

MODULE: Final = Path(__file__).parent / "karpenter_real"
OPEN: Final = "open pool"
CHEAP: Final = "cx+cax"
EXPERT: Final = "an expert's pools"
SET_UPS: Final = (OPEN, CHEAP, EXPERT)

_CHEAP_FAMILIES: Final = ("cx", "cax")
_BEST: Final = ("cx32", "cax21", "cax31", "cax41")
"""Types that someone who has compared prices per core and per GB would take first."""
_LONGEST_SECONDS: Final = 300
"""The scheduler stops by itself after a minute; before and after it, objects are built and counted."""


class BuildError(Exception):
    """The program cannot be built; the text says what is missing."""


class KarpenterFailed(Exception):
    """The program gave no answer; the text holds what it said."""


def set_ups(problem: PeerProblem, machines: Sequence[CatalogueMachine]) -> Mapping[str, Sequence[ProblemPool]]:
    """Return the pools of each set-up for a problem; what is behind a taint is for pods that fit on nothing cheap."""
    cheap = {b for b, machine in enumerate(machines) if machine.family in _CHEAP_FAMILIES}
    others = tuple(i for i, group in enumerate(problem.packing.groups) if not group.bins & cheap)

    def pool(
        name: str, weight: int, has: Callable[[CatalogueMachine], bool], tolerating: tuple[int, ...] | None = None
    ) -> ProblemPool:
        types = tuple(dict.fromkeys(machine.name for machine in machines if has(machine)))
        return ProblemPool(name=name, weight=weight, types=types, tolerating=tolerating)

    def is_cheap(machine: CatalogueMachine) -> bool:
        return machine.family in _CHEAP_FAMILIES

    def is_best(machine: CatalogueMachine) -> bool:
        return machine.name in _BEST

    return {
        OPEN: [pool("all", 1, lambda _: True)],
        CHEAP: [pool("cheap", 50, is_cheap), pool("others", 1, lambda m: not is_cheap(m), others)],
        EXPERT: [
            pool("best", 50, is_best),
            pool("cheap", 10, lambda m: is_cheap(m) and not is_best(m)),
            pool("dedicated", 1, lambda m: m.family == DEDICATED, others),
        ],
    }


def run(path: Path, problem: PeerProblem, set_up: str, seed: int) -> PackingAnswer:
    """Return the machines that Karpenter's scheduler would launch for a file with one of its set-ups.

    Args:
        path: the problem's file, with its set-ups.
        problem: what is in it.
        set_up: the name of one of them.
        seed: what the pods' random uids are drawn from; ties between pods follow from them.

    Raises:
        BuildError: there is no Go to build it with.
        KarpenterFailed: the program ended without an answer.
    """
    command = [str(binary(MODULE)), str(path), set_up, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LONGEST_SECONDS)  # noqa: S603 - built from our own source
    if done.returncode:
        raise KarpenterFailed(f"{set_up}, seed {seed}: {done.stderr[-2000:]}")
    return read_answer(problem, done.stdout)


def binary(module: Path) -> Path:
    """Return the program of a Go module, after building it if its sources have changed (minutes, the first time).

    Raises:
        BuildError: Go is missing or too old, or the module cannot be built.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    built = caches / "growth" / module.name / _digest(module) / module.name
    if built.exists():
        return built
    built.parent.mkdir(parents=True, exist_ok=True)
    with built.with_suffix(".lock").open("w") as lock:
        # Two runs at once must not both build; the second finds it built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _build(module, built)
    return built


def _digest(module: Path) -> str:
    digest = hashlib.sha256()
    for source in sorted([*module.glob("*.go"), module / "go.mod", module / "go.sum"]):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _build(module: Path, built: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise BuildError(f"Go is missing: {module.name} is built from source (https://go.dev/dl/)")
    sys.stderr.write(f"building {module.name} into {built.parent}: about three minutes, once\n")
    unfinished = built.with_suffix(f".{os.getpid()}")
    # Without a stamp of the commit: git refuses to tell it in a folder of another user's.
    command = [go, "build", "-buildvcs=false", "-ldflags=-s -w", "-o", str(unfinished), "."]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    done = subprocess.run(command, cwd=module, env=environment, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 - Go, on our own module
    if done.returncode:
        unfinished.unlink(missing_ok=True)
        # An old Go without leave to download another one says so here, too.
        raise BuildError(f"go build failed in {module}:\n{done.stderr[-4000:]}")
    unfinished.rename(built)
