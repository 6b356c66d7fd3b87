"""`growth run` and a Temporal server of its own, as processes that a test may kill."""

import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from tests.e2e.harness import ControlPlane
from tests.e2e.harness_process import Process, free_ports
from tests.e2e.quick_growth import QUICK_GROWTH
from worker.errors import USAGE_ERROR

ROOT = Path(__file__).parents[2]
READY_SECONDS = 60
CANNOT_GO_ON = "the worker cannot go on: "


class TemporalServer:
    """A Temporal server with its file in `folder`, apart from any worker."""

    def __init__(self, folder: Path) -> None:
        port = free_ports(1)[0]
        self.address = f"127.0.0.1:{port}"
        self._folder = folder
        self._file = folder / "separate.db"
        options = {"--ip": "127.0.0.1", "--port": port, "--db-filename": self._file, "--log-level": "error"}
        self._command = [Path(sys.prefix) / "bin" / "temporal", "server", "start-dev", "--headless"]
        for option, value in options.items():
            self._command += [option, str(value)]
        self._process = Process("temporal", self._command, folder=folder)

    def kill(self) -> None:
        self._process.kill()

    def start_empty(self) -> None:
        """Start it again at the same address, as one that remembers nothing."""
        for file in self._folder.glob(f"{self._file.name}*"):
            file.unlink()
        self._process = Process("temporal", self._command, folder=self._folder)


class GrowthProcess:
    """A worker on the control plane, as its admin unless a `kubeconfig` is given.

    With an `address` it uses that Temporal server, without one its own. `environment` has further variables. A `quick`
    one has durations a tenth as long, and is what Python makes of the `program`.
    """

    def __init__(
        self,
        plane: ControlPlane,
        folder: Path,
        *,
        cluster: str,
        address: str | None,
        kubeconfig: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        quick: bool = False,
        program: Sequence[str] = QUICK_GROWTH,
    ) -> None:
        self._folder = folder
        self.address = address
        bin_folder = Path(sys.prefix) / "bin"
        self._program = [bin_folder / "python", *program] if quick else [bin_folder / "growth"]
        self._port = free_ports(1)[0]
        self._environment = {
            "PYTHONPATH": str(ROOT),
            "GROWTH_CLUSTER": cluster,
            "GROWTH_KUBECONFIG": str(kubeconfig or plane.kubeconfig),
            "GROWTH_HTTP_ADDRESS": f"127.0.0.1:{self._port}",
            "GROWTH_DATA_DIR": str(self.data_dir),
            # Nobody listens there: no scenario may reach the real cloud.
            "GROWTH_HCLOUD_ENDPOINT": "http://127.0.0.1:1/v1",
            **environment,
        }
        if address is None:
            self._environment["GROWTH_EMBEDDED_TEMPORAL"] = "true"
        else:
            self._environment["GROWTH_TEMPORAL_ADDRESS"] = address
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """Number of the running process."""
        assert self._process is not None
        return self._process.pid

    @property
    def data_dir(self) -> Path:
        """Where a worker with a Temporal server of its own keeps it."""
        return self._folder / "data"

    def launch(self) -> None:
        """Start the worker."""
        command = [*self._program, "run"]
        self._process = Process("growth", command, folder=self._folder, environment=self._environment)

    def start(self) -> None:
        """Start the worker and wait until it is ready."""
        self.launch()
        assert self._process is not None
        deadline = time.monotonic() + READY_SECONDS
        while not self._answers("readyz"):
            self._process.check()
            if time.monotonic() > deadline:
                raise AssertionError(f"growth run: not ready within {READY_SECONDS} s\n{self._process.tail()}")
            time.sleep(0.1)

    def refusal(self, within: float = READY_SECONDS) -> str:
        """Start the worker and return the one sentence with which it ends, because it cannot be used as it is."""
        self.launch()
        assert self._process is not None
        assert self._process.wait(within) == USAGE_ERROR, self.log()
        sentences = [line for line in self.log().splitlines() if CANNOT_GO_ON in line]
        assert len(sentences) == 1, self.log()
        return sentences[0].partition(CANNOT_GO_ON)[2]

    def metrics(self) -> list[str]:
        """Return the samples that /metrics shows."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=10) as answer:
            page = answer.read().decode()
        return [line for line in page.splitlines() if line and not line.startswith("#")]

    def kill(self) -> None:
        """SIGKILL, as a machine that loses power."""
        if self._process is not None:
            self._process.kill()

    def log(self) -> str:
        """Return all that it and those before it have logged."""
        return "" if self._process is None else self._process.log.read_text(errors="replace")

    def tail(self) -> str:
        """Return the end of its log."""
        return "" if self._process is None else self._process.tail()

    def fetch(self, path: str) -> str:
        """Return what one of its HTTP pages says."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/{path}", timeout=5) as response:
            return response.read().decode()

    def waits_for(self) -> str:
        """Return what it says that it still waits for, empty when it is ready."""
        try:
            self.fetch("readyz")
        except urllib.error.HTTPError as error:
            return error.read().decode()
        except (urllib.error.URLError, OSError):
            return "its start"
        return ""

    def _answers(self, path: str) -> bool:
        try:
            self.fetch(path)
        except (urllib.error.URLError, OSError):
            return False
        return True
