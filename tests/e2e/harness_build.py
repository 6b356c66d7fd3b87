"""The binaries of a real control plane: built once from Go modules into a cache folder, never into the repository.

`GROWTH_CONTROLPLANE` names a ready folder instead. KWOK's own stages are kept beside the binaries, so
that Go is needed for the first run only.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MODULE = Path(__file__).parent / "controlplane"
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
STAGES = "kwok-stages-with-delay.yaml"
_STAGE_FOLDERS = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
_AT_ONCE = """  name: node-initialize
spec:
"""
_DELAY = """  delay:
    durationFrom: {expressionFrom: '.metadata.annotations["node-initialize.stage.kwok.x-k8s.io/delay"]'}
"""
"""As docs/concepts.md says of it: KWOK's own stage makes Nodes Ready at once."""


class BuildError(Exception):
    """The control plane cannot be built; the message says what is missing."""


def binaries() -> Path:
    """Return the folder with the five binaries and KWOK's stages; build what is missing (minutes, the first time)."""
    ready = os.environ.get("GROWTH_CONTROLPLANE")
    folder = Path(ready) if ready else _cache_folder()
    missing = [name for name in (*PACKAGES, STAGES) if not (folder / name).exists()]
    if not missing:
        return folder
    if ready:
        raise BuildError(f"GROWTH_CONTROLPLANE={ready}: {', '.join(missing)} not there; unset it to build them")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        # Two test runs at once must not both build for five minutes; the second finds all built.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _require_go()
        if any(not (folder / name).exists() for name in PACKAGES):
            _build(folder)
        _collect_stages(folder)
    return folder


def _cache_folder() -> Path:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((MODULE / name).read_bytes())
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "growth" / "controlplane" / digest.hexdigest()[:16]


def _require_go() -> None:
    required = re.search(r"^go (\d+)\.(\d+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    assert required, "go.mod names its Go version"
    wanted = (int(required[1]), int(required[2]))
    advice = f"the e2e tests build Kubernetes and need Go {wanted[0]}.{wanted[1]} or newer on PATH (https://go.dev/dl/)"
    if shutil.which("go") is None:
        raise BuildError(f"Go is missing: {advice}, or GROWTH_CONTROLPLANE naming a folder of ready binaries")
    # Without GOTOOLCHAIN=local an old Go would report the version that it is about to download.
    found = subprocess.run(
        ["go", "env", "GOVERSION"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "GOTOOLCHAIN": "local"},
    ).stdout.strip()
    version = re.match(r"go(\d+)\.(\d+)", found)
    if version and (int(version[1]), int(version[2])) < wanted:
        raise BuildError(f"Go is too old ({found}): {advice}")


def _go(*arguments: str) -> str:
    done = subprocess.run(
        ["go", *arguments],
        cwd=MODULE,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CGO_ENABLED": "0"},
    )
    if done.returncode:
        raise BuildError(f"go {arguments[0]} failed in {MODULE}:\n{done.stderr[-4000:]}")
    return done.stdout.strip()


def _build(folder: Path) -> None:
    sys.stderr.write(f"building the control plane into {folder}: about five minutes, once\n")
    building = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    try:
        _go("build", "-ldflags=-s -w", "-o", f"{building}/", *PACKAGES.values())
        (building / "server").rename(building / "etcd")
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _collect_stages(folder: Path) -> None:
    module = Path(
        _go("mod", "download", "-json", "sigs.k8s.io/kwok") and _go("list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
    )
    documents = [
        path.read_text()
        for stages in _STAGE_FOLDERS
        for path in sorted((module / "kustomize" / "stage" / stages).glob("*.yaml"))
        if path.name != "kustomization.yaml"
    ]
    if not documents:
        raise BuildError(f"no KWOK stages under {module}/kustomize/stage")
    stages = "\n---\n".join(documents)
    if stages.count(_AT_ONCE) != 1:
        raise BuildError(f"KWOK's stages under {module}/kustomize/stage have another node-initialize")
    unfinished = folder / f"{STAGES}.{os.getpid()}"
    unfinished.write_text(stages.replace(_AT_ONCE, _AT_ONCE + _DELAY))
    unfinished.rename(folder / STAGES)


if __name__ == "__main__":
    # `make e2e` builds before pytest starts, so that no test's time-out counts the build.
    try:
        sys.stdout.write(f"{binaries()}\n")
    except BuildError as error:
        sys.exit(str(error))
