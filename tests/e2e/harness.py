"""A real control plane without containers: etcd, API server, scheduler, controller manager and KWOK.

Each start is a fresh, empty cluster in a temporary folder on free loopback ports.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.e2e.api_server import ApiServer, Refused
from tests.e2e.harness_build import STAGES, binaries
from tests.e2e.harness_files import (
    USERS,
    token,
    write_audit_policy,
    write_kubeconfig,
    write_service_account_key,
    write_tokens,
)
from tests.e2e.harness_process import Process, ProcessDied, free_ports

DEFINITIONS = Path(__file__).parents[2] / "deploy" / "crds"
_READY_SECONDS = 60
_POLL_SECONDS = 0.1
_STARTS = 3
_TRIES = 5


class ControlPlane:
    """A running control plane.

    Args:
        flags: further flags by process; one that is set here already is overridden.

    Attributes:
        url: of the API server.
        api: a connection to it with the admin's rights.
        kubeconfig: of the admin.
        folder: where data, logs and kubeconfigs are.
    """

    def __init__(self, flags: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        self.url = ""
        self.api: ApiServer
        self._flags = flags
        self.folder = Path(tempfile.mkdtemp(prefix="growth-e2e-"))
        self._binaries = binaries()
        self._processes: dict[str, Process] = {}
        self._commands: dict[str, list[str | Path]] = {}
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def kubeconfig_for(self, user: str) -> Path:
        """Return the kubeconfig of one of `USERS`."""
        return self.folder / f"{user}.kubeconfig"

    @property
    def kubeconfig(self) -> Path:
        return self.kubeconfig_for("admin")

    @property
    def audit_log(self) -> Path:
        """What Growth's own account asked of the API server: a JSON object a line, absent before the first call."""
        return self.folder / "audit.log"

    def kubectl(self, *arguments: str, stdin: str | None = None, user: str = "admin") -> str:
        """Run kubectl and return what it prints; a failure raises with its error text."""
        done = self._kubectl(*arguments, stdin=stdin, user=user)
        if done.returncode:
            self.check()
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def replace(self, body: Mapping[str, Any]) -> None:
        """Put an object in the place of the one of its name; again, if it was written since kubectl had read it."""
        error = ""
        for _ in range(_TRIES):
            done = self._kubectl("replace", "-f", "-", stdin=json.dumps(body))
            if not done.returncode:
                return
            error = done.stderr.strip()
            if "(Conflict)" not in error:
                break
        self.check()
        raise AssertionError(f"kubectl replace: {error}")

    def apply_definitions(self) -> None:
        """Apply deploy/crds and wait until the API server serves them."""
        applied = [one for path in sorted(DEFINITIONS.glob("*.yaml")) for one in self.api.apply_file(path)]
        names = [definition["metadata"]["name"] for definition in applied]
        self.wait_for(lambda: all(map(self._is_served, names)), "the definitions are served", 30)

    def wait_for(self, holds: Callable[[], bool], what: str, seconds: float = _READY_SECONDS) -> None:
        """Wait until `holds` returns true; fail when a process dies or the time is over."""
        deadline = time.monotonic() + seconds
        while not holds():
            self.check()
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds:g} s\n{self.tails()}")
            time.sleep(_POLL_SECONDS)

    def pid(self, name: str) -> int:
        """Return the number of one of the processes."""
        return self._processes[name].pid

    def stop(self, name: str) -> None:
        """Kill one of the processes, as an outage."""
        self._processes.pop(name).kill()

    def start(self, name: str) -> None:
        """Start a stopped process again with its old data."""
        self._processes[name] = Process(name, self._commands[name], folder=self.folder)

    def freeze(self, name: str, seconds: float) -> None:
        """Let one of the processes keep its connections and answer nothing for so long."""
        os.kill(self.pid(name), signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(self.pid(name), signal.SIGCONT)

    def check(self) -> None:
        """Raise `ProcessDied` if any of the processes ended by itself."""
        for process in self._processes.values():
            process.check()

    def tails(self) -> str:
        """Return the ends of all logs."""
        return "\n".join(f"--- {process.name}\n{process.tail()}" for process in self._processes.values())

    def close(self) -> None:
        """Kill all processes, the last started first, and remove the folder."""
        if self.url:
            self.api.close()
        while self._processes:
            self._processes.popitem()[1].kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kubectl(
        self, *arguments: str, stdin: str | None = None, user: str = "admin"
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [Path(sys.prefix) / "bin" / "kubectl", "--kubeconfig", self.kubeconfig_for(user), *arguments],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_READY_SECONDS,
            env={"HOME": str(self.folder)},
        )

    def _start(self) -> None:
        tokens, keys = write_tokens(self.folder), write_service_account_key(self.folder)
        for start in range(_STARTS):
            self._configure(tokens, *keys)
            try:
                self._start_all()
            except ProcessDied as death:
                # Another program took one of the ports between their choice and their use.
                if start == _STARTS - 1 or "address already in use" not in str(death):
                    raise
                while self._processes:
                    self._processes.popitem()[1].kill()
            else:
                return

    def _configure(self, tokens: Path, private_key: Path, public_key: Path) -> None:
        etcd_port, peer_port, api_port = free_ports(3)
        etcd, peer = f"http://127.0.0.1:{etcd_port}", f"http://127.0.0.1:{peer_port}"
        self.url = f"https://127.0.0.1:{api_port}"
        certificates = self.folder / "certificates"
        self.api = ApiServer(self.url, certificates / "apiserver.crt", token("admin"))
        for user in USERS:
            # The API server signs its own certificate, which therefore is the authority too.
            write_kubeconfig(self.folder, user, self.url, certificates / "apiserver.crt")
        binary, kubeconfig = self._binaries, f"--kubeconfig={self.kubeconfig}"
        self._commands = {
            "etcd": [
                binary / "etcd",
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={etcd}",
                f"--advertise-client-urls={etcd}",
                f"--listen-peer-urls={peer}",
                f"--initial-advertise-peer-urls={peer}",
                f"--initial-cluster=default={peer}",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
            "kube-apiserver": [
                binary / "kube-apiserver",
                f"--etcd-servers={etcd}",
                "--bind-address=127.0.0.1",
                f"--secure-port={api_port}",
                f"--cert-dir={certificates}",
                f"--token-auth-file={tokens}",
                "--authorization-mode=RBAC",
                f"--audit-policy-file={write_audit_policy(self.folder)}",
                f"--audit-log-path={self.audit_log}",
                f"--service-account-issuer={self.url}",
                f"--service-account-key-file={public_key}",
                f"--service-account-signing-key-file={private_key}",
                "--service-cluster-ip-range=10.0.0.0/24",
                # It would refuse pods until their namespace has an account, which no test is about.
                "--disable-admission-plugins=ServiceAccount",
            ],
            "kube-controller-manager": [
                binary / "kube-controller-manager",
                kubeconfig,
                "--leader-elect=false",
                "--secure-port=0",
                f"--service-account-private-key-file={private_key}",
                "--controllers=*,-nodeipam,-service-lb-controller",
            ],
            "kube-scheduler": [binary / "kube-scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0"],
            "kwok": [
                binary / "kwok",
                kubeconfig,
                f"--config={binary / STAGES}",
                "--manage-all-nodes=false",
                "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                "--node-lease-duration-seconds=40",
            ],
        }
        for name, further in self._flags.items():
            self._commands[name] += further

    def _start_all(self) -> None:
        self.start("etcd")
        self.start("kube-apiserver")
        self.wait_for(self.api.answers, "the API server is ready")
        for name in ("kube-controller-manager", "kube-scheduler", "kwok"):
            self.start(name)
        self.wait_for(self._controllers_run, "the controller manager has made the default service account")

    def _controllers_run(self) -> bool:
        return self.api.get("serviceaccounts", "default", "default") is not None

    def _is_served(self, definition: str) -> bool:
        found = self.api.get("customresourcedefinitions", definition) or {}
        # Null until a controller has seen it.
        conditions = {one["type"]: one["status"] for one in found.get("status", {}).get("conditions") or ()}
        if conditions.get("Established") != "True":
            return False
        try:
            self.api.items(definition.partition(".")[0])
        except Refused:
            # An established kind still has to get its storage: the server says so for a moment.
            return False
        return True


_borrowed: list[ControlPlane] = []
_borrowers = 0


@contextmanager
def borrowed_control_plane() -> Iterator[ControlPlane]:
    """Lend the one control plane of this test run: the first borrower starts it, the last one's return ends it."""
    global _borrowers  # noqa: PLW0603 - a test run has one, whichever folders' fixtures ask for it
    if not _borrowed:
        _borrowed.append(ControlPlane())
    _borrowers += 1
    try:
        yield _borrowed[0]
    finally:
        _borrowers -= 1
        if not _borrowers:
            _borrowed.pop().close()
