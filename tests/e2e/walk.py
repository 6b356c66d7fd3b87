"""A walk through a document: its commands for a cluster in their order, each as a person would type it."""

import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.harness import ControlPlane
from tests.e2e.harness_process import Process, free_ports
from tests.e2e.printed import differences
from tests.project.documents import ROOT, Command, blocks, commands, filled_in

NO_KUBELET = "no preferred addresses found"
"""With what the API server ends a call that only a kubelet can answer: all that stands before it was right."""
DOCUMENTED_ADDRESS = "127.0.0.1:8080"


class Walk:
    """Runs the commands of a document. Files of the document are made in `folder`, where it also finds `deploy`.

    A worker is a process on the same computer; documents say where it is to be started, and the test does it.
    """

    def __init__(self, document: str, plane: ControlPlane, folder: Path, *, cluster: str) -> None:
        self._document = document
        self._plane = plane
        self._folder = folder
        self._left = [command for command in commands(document) if command.needs_cluster]
        self._address = f"127.0.0.1:{free_ports(1)[0]}"
        self._worker: Process | None = None
        self.data = folder / "data"
        self.environment = {
            "PATH": f"{ROOT}/.venv/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "LOGNAME": "operator",
            "COLUMNS": "120",
            "KUBECONFIG": str(plane.kubeconfig),
            "GROWTH_DATA_DIR": str(self.data),
            "GROWTH_CLUSTER": cluster,
            "GROWTH_HTTP_ADDRESS": self._address,
        }
        for name in ("deploy", ".venv"):
            (folder / name).symlink_to(ROOT / name)

    def next(self, beginning: str, *, fails: str | None = None, **names: str) -> str:
        """Run the next command, which must begin so, and return what it prints; placeholders become `names`.

        With `fails` it must fail and print this among other things. What the document says that it
        prints must be printed.
        """
        command = self._next(beginning)
        self._write_files(names)
        line = filled_in(command.text, names).replace(DOCUMENTED_ADDRESS, self._address)
        done = subprocess.run(
            line,
            shell=True,
            cwd=self._folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )
        where = f"{command.block.where}: {line}"
        printed = done.stdout + done.stderr
        if fails is None:
            assert done.returncode == 0, f"{where}: {printed}"
        else:
            assert done.returncode != 0, f"{where}: did not fail: {printed}"
            assert fails in printed, f"{where}: {printed}"
        if command.prints is not None:
            missing = differences(command.prints.text, printed)
            assert not missing, f"{where}: {command.prints.where} has lines that were not printed:\n" + "\n".join(
                [*missing, "--- printed was", printed]
            )
        return printed

    def take(self, beginning: str) -> str:
        """Return the next command, which must begin so, for one that runs until it is ended."""
        return self._next(beginning).text

    def finish(self) -> None:
        """Check that every command for a cluster has been run."""
        assert not self._left, f"not run: {[f'{c.block.where}: {c.text}' for c in self._left]}"

    def start_worker(self, command: str = "growth run --embedded-temporal", kubeconfig: Path | None = None) -> None:
        """Start `growth run` and wait until it is ready."""
        program, *arguments = command.split()
        environment = self.environment | {"KUBECONFIG": str(kubeconfig or self._plane.kubeconfig)}
        words = [ROOT / ".venv" / "bin" / Path(program).name, *arguments]
        self._worker = Process("growth", words, folder=self._folder, environment=environment)
        self._plane.wait_for(self._is_ready, "the worker is ready")

    def kill_worker(self) -> None:
        """End the worker as a machine that loses power does."""
        if self._worker is not None:
            self._worker.kill()

    def tail(self) -> str:
        """Return the end of the worker's log."""
        return "" if self._worker is None else self._worker.tail()

    def _next(self, beginning: str) -> Command:
        assert self._left, f"{self._document} has no more commands; expected: {beginning}"
        command = self._left.pop(0)
        assert command.program.startswith(beginning), (
            f"{command.block.where}: the next command is `{command.text}`, not `{beginning} …`"
        )
        return command

    def _write_files(self, names: Mapping[str, str]) -> None:
        """Write the objects that the document has as files: their first line is a comment with the name."""
        for block in blocks(self._document):
            first = block.text.partition("\n")[0]
            if block.language == "yaml" and first.startswith("# ") and first.endswith(".yaml"):
                path = self._folder / first.removeprefix("# ")
                path.parent.mkdir(exist_ok=True)
                path.write_text(filled_in(block.text, names))

    def _is_ready(self) -> bool:
        if self._worker is not None:
            self._worker.check()
        try:
            with urllib.request.urlopen(f"http://{self._address}/readyz", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False
