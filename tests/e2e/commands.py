"""`growth` as a person runs it beside the worker."""

import subprocess
import sys
from pathlib import Path

from tests.e2e.growth_process import ROOT
from tests.e2e.harness import ControlPlane
from tests.e2e.quick_growth import QUICK_GROWTH

GROWTH = Path(sys.prefix) / "bin" / "growth"
SECONDS = 20
"""Far above what a command may take even on a busy machine; a test that is about time measures it itself."""

WAITING = "growth: waiting for "


class Commands:
    """Runs `growth` as one of the users of the control plane; a `quick` one has durations a tenth as long."""

    def __init__(self, plane: ControlPlane, folder: Path, *, quick: bool = False) -> None:
        self._program = [Path(sys.prefix) / "bin" / "python", *QUICK_GROWTH] if quick else [GROWTH]
        self._plane = plane
        self._folder = folder

    def environment(self, user: str = "admin") -> dict[str, str]:
        kubeconfig = str(self._plane.kubeconfig_for(user))
        return {"PYTHONPATH": str(ROOT), "HOME": str(self._folder), "KUBECONFIG": kubeconfig}

    def run(
        self, *words: str, user: str = "admin", within: float = SECONDS, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._program, *words],
            env=self.environment(user) | variables,
            cwd=self._folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=within,
        )

    def told(self, *words: str, within: float = SECONDS) -> str:
        """Return what a command prints; a failure fails the test."""
        done = self.run(*words, within=within)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    def refused(
        self, *words: str, user: str = "admin", code: int = 1, within: float = SECONDS, **variables: str
    ) -> str:
        """Return the one line, without its end, of a command that refuses with this exit code.

        What a command that waits says meanwhile does not count.
        """
        done = self.run(*words, user=user, within=within, **variables)
        assert (done.returncode, done.stdout) == (code, ""), done.stdout + done.stderr
        told = [line for line in done.stderr.splitlines() if not line.startswith(WAITING)]
        assert len(told) == 1, done.stderr
        assert told[0].startswith("growth: ")
        return told[0].removeprefix("growth: ")
