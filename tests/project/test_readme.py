import re
import subprocess

import pytest

from tests.project.readme import ROOT, commands, is_target, needs_cluster

OFFLINE = [command for command in commands() if not needs_cluster(command) and not is_target(command)]


def test_the_readme_has_commands_of_each_kind():
    assert len(OFFLINE) >= 2
    assert sum(needs_cluster(command) for command in commands()) >= 5
    assert {"make demo", "make test", "make sync"} <= set(commands())


@pytest.mark.parametrize("command", OFFLINE)
def test_a_command_without_a_cluster_works(command: str):
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {command.split()[1] for command in commands() if is_target(command)}
    assert named <= targets
