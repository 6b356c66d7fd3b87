"""What is installed: one top-level package, whatever folders with the names of its rooms are on the search path."""

import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import zipfile

import pytest

from tests.project.image import ROOT, build_wheel, commands, hostile_folder, install

ROOMS = {"api", "planner", "activities", "workflows", "simulator", "worker"}
POOL = ROOT / "deploy" / "examples" / "pool.yaml"
PODS = 20
"""More than the fallback keeps for itself."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    return install(wheel, tmp_path_factory.mktemp("installed"))


@pytest.fixture
def run(programs, tmp_path):
    """Run a program of the installation in a folder with hostile packages, which PYTHONPATH names too."""
    folder = hostile_folder(tmp_path / "hostile")

    def runs(program, *arguments):
        return subprocess.run(
            [str(programs / program), *arguments],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(folder), "COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )

    return runs


def files(wheel):
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_one_top_level_package_with_the_rooms(wheel):
    assert {name.split("/")[0] for name in files(wheel)} == {"growth_autoscaler"}
    inside = {name.split("/")[1] for name in files(wheel)}
    assert inside == ROOMS | {"__init__.py", "__main__.py"}


def test_the_wheel_holds_every_module_but_those_that_run_from_the_checkout(wheel):
    modules = {f"growth_autoscaler/{file.relative_to(ROOT)}" for room in ROOMS for file in (ROOT / room).rglob("*.py")}
    left_out = {name for name in modules if name.startswith("growth_autoscaler/simulator/campaign/")}
    assert len(left_out) > 10
    held = {name for name in files(wheel) if name.count("/") > 1 and not name.endswith("/py.typed")}
    assert held == modules - left_out


@pytest.mark.parametrize("command", [("growth",), ("kubectl-growth",), ("python", "-m", "growth_autoscaler")])
def test_it_starts_beside_packages_with_the_names_of_its_own(run, command):
    done = run(*command, "--version")
    assert (done.stdout, done.stderr, done.returncode) == ("0.1.0\n", "", 0)


@pytest.mark.timeout(300)
def test_it_plans_there_with_the_optimiser(run, tmp_path):
    requests = {"requests": {"cpu": "500m", "memory": "768Mi"}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"web-{number}"},
            "spec": {"containers": [{"name": "main", "image": "registry.example/web:1", "resources": requests}]},
        }
        for number in range(PODS)
    ]
    (tmp_path / "pods.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    words = ("plan", "-f", str(POOL), "-f", str(tmp_path / "pods.json"), "-o", "json")
    done = run("python", "-X", "importtime", "-m", "growth_autoscaler", *words)
    assert done.returncode == 0, done.stderr
    placed = [pod for request in json.loads(done.stdout)["requests"] for pod in request["pods"]]
    assert len(placed) == PODS
    assert re.search(r"\| +planner\.packing\.optimiser\.solve$", done.stderr, re.MULTILINE)


@pytest.mark.timeout(300)
def test_the_solvers_process_starts_beside_them(run):
    """As the worker starts it: by the name of its module, with what this process has as PYTHONPATH."""
    script = """
        import growth_autoscaler, time
        from planner.packing.problem import BinRow, GroupRow, PackingProblem
        from worker.solver.process import SolverProcess
        solver = SolverProcess()
        solver.start()
        end = time.monotonic() + 100
        while not solver.is_warm and time.monotonic() < end:
            time.sleep(0.1)
        problem = PackingProblem((GroupRow((1,), 20, frozenset({0})),), (BinRow((4,), 10),))
        print(solver.is_warm, len(solver(problem).nodes))
        solver.close()
    """
    done = run("python", "-c", textwrap.dedent(script))
    assert done.stdout.splitlines()[-1] == "True 5", done.stdout + done.stderr


@pytest.mark.timeout(300)
def test_the_image_compiles_the_optimiser_of_the_wheel(run):
    (warm,) = commands("warm()")
    words = shlex.split(warm)
    assert words[-3:-1] == ["/opt/growth/bin/python", "-c"]
    done = run("python", "-c", f"{words[-1]}; print(warm.__module__, warm.cache_info().currsize)")
    assert done.stdout == "planner.packing.optimiser.solve 1\n", done.stderr


def test_the_checkout_starts_in_the_same_way(tmp_path):
    """Source: the console scripts of `make sync` call `main`; the editable install has the root on the search path."""
    folder = hostile_folder(tmp_path / "hostile")
    path = os.pathsep.join((str(folder), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "growth_autoscaler", "crds"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nodepools.growth.dev" in done.stdout
