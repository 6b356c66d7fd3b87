"""`growth demo --keep`: what it leaves on the screen, what it prints works, and nothing is left of it."""

import io
import re
import shlex
import signal
import subprocess
import time

import pytest

from tests.worker.demo.terminal import Terminal, seen
from tests.worker.demo.test_command import COMMAND, environment, left_over

INVITED = "Ctrl-C ends it and removes everything."
LEAVES_SECONDS = 15


class InAnotherTerminal:
    """Runs what a demo prints.

    Args:
        printed: by the demo so far.
        folder: of the demo.
    """

    def __init__(self, printed, folder):
        self.commands = re.findall(
            r"^ +\$ (.+?)(?: +# .*)?$", printed[printed.index("in another terminal") :], re.MULTILINE
        )
        (exported,) = (line for line in self.commands if line.startswith("export "))
        self._environment = environment(folder) | dict(pair.split("=", 1) for pair in shlex.split(exported)[1:])

    def run(self, line):
        program, *arguments = shlex.split(line)
        assert program == "growth"
        done = subprocess.run(
            [*COMMAND[:-1], *arguments], env=self._environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    def run_all(self):
        """Run all commands in their order and return what each prints."""
        return {line: self.run(line) for line in self.commands if line.startswith("growth ")}


def check_answers(answers):
    status = answers["growth status"]
    assert "3 machines: 1 ready, 0 coming, 2 going" in status
    assert "Without a place: 1 TooLarge" in status
    by_verb = {tuple(line.split()[1:3]): (line.split()[-1], text) for line, text in answers.items()}
    pod, why = by_verb["why", "pod"]
    assert why.startswith(f"Pod {pod} asks for cpu 64, memory 8Gi")
    assert "TooLarge: no machine of pool default is large enough for cpu 64" in why
    cancelled, answer = by_verb["removals", "cancel"]
    assert answer == f"{cancelled}: cancelled; the machine stays\n"
    skipped, answer = by_verb["removals", "skip"]
    assert answer.startswith(f"{skipped}: skipped; its server counts as gone")
    assert answers[f"growth why node {cancelled}"].startswith(f"Node {cancelled}: bought by Growth for pool default")
    assert "could not be deleted: parked" in answers[f"growth why node {skipped}"]
    return cancelled, skipped


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_on_a_terminal_no_frame_stays_and_what_is_printed_works(tmp_path):
    with Terminal([*COMMAND, "--keep"], environment(tmp_path)) as terminal:
        terminal.read_until(INVITED, 150)
        lines, is_shown = seen(terminal.raw)
        assert is_shown
        assert [line for line in lines if "waiting for" in line] == []
        tables = [at for at, line in enumerate(lines) if line.startswith("machine  ")]
        after = lines[tables[-1] :]
        assert sorted(line.split()[3] for line in after[1:4]) == ["cools", "parked", "ready"]
        assert after[4].startswith("0 of 1 pods run")
        last = lines[tables[-1] + 1]
        assert lines.count(last) == 1, "the same frame stands twice"
        other = InAnotherTerminal("\n".join(lines), tmp_path)
        cancelled, skipped = check_answers(other.run_all())
        terminal.read_until("Treat the server as gone", 20)
        told = terminal.raw.rpartition(INVITED)[2]
        assert "\x1b[?25" not in told
        assert not re.search(r"\x1b\[\d*[AK]", told), "what happens is told in plain lines"
        assert re.search(rf"{cancelled} By \w+: ", "\n".join(seen(told)[0]))
        began = time.monotonic()
        terminal.process.send_signal(signal.SIGINT)
        terminal.read_until("", 30)
        assert terminal.process.wait(30) == 130
        assert time.monotonic() - began < LEAVES_SECONDS
        lines, is_shown = seen(terminal.raw)
        assert is_shown
        assert [line for line in lines if line][-1] == "Interrupted: everything is stopped and removed."
    assert skipped in terminal.raw
    assert left_over(tmp_path) == []


@pytest.mark.e2e
@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_in_a_file_there_is_no_sequence_and_what_is_printed_works(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    with subprocess.Popen(
        [*COMMAND, "--keep", "--seed", "7"],
        # Of somebody who has a real cluster, too.
        env=environment(folder) | {"GROWTH_CONTEXT": "prod", "GROWTH_TEMPORAL_NAMESPACE": "prod"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert isinstance(process.stdout, io.TextIOWrapper)
        printed = ""
        while INVITED not in printed:
            line = process.stdout.readline()
            assert line, printed + process.communicate(timeout=60)[1]
            printed += line
        assert "GROWTH_CONTEXT= GROWTH_TEMPORAL_NAMESPACE=\n" in printed
        check_answers(InAnotherTerminal(printed, folder).run_all())
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=60)
        assert process.returncode == 130
        assert complaints == ""
        assert "\x1b" not in printed + rest
        assert "By " in rest
    assert left_over(folder) == []


def test_a_demo_whose_terminal_is_closed_leaves_nothing(tmp_path):
    with Terminal(COMMAND, environment(tmp_path)) as terminal:
        terminal.read_until("waiting for", 60)
        terminal.process.send_signal(signal.SIGHUP)
        terminal.read_until("", 30)
        assert terminal.process.wait(30) == 130
        assert seen(terminal.raw)[1]
    assert left_over(tmp_path) == []


def test_a_second_interrupt_ends_it_at_once_with_the_cursor_back(tmp_path):
    with Terminal(COMMAND, environment(tmp_path)) as terminal:
        terminal.read_until("waiting for", 60)
        assert not seen(terminal.raw)[1]
        terminal.process.send_signal(signal.SIGINT)
        terminal.process.send_signal(signal.SIGTERM)
        terminal.read_until("", 30)
        assert terminal.process.wait(30) == 130
        assert seen(terminal.raw)[1]
