"""What deploy/Dockerfile says, and its wheel: built of what it copies, by its own command, and installed."""

import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
INSTRUCTIONS: Final = re.findall(
    r"^([A-Z]+) (.*)$",
    re.sub(r"^#.*\n", "", (ROOT / "deploy" / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " "),
    re.MULTILINE,
)
_OPTIMISER: Final = Path("planner") / "packing" / "optimiser" / "__pycache__"


def copied() -> dict[str, str]:
    """Return source and destination of what the image's recipe copies out of the repository."""
    pairs: dict[str, str] = {}
    for name, rest in INSTRUCTIONS:
        if name == "COPY" and "--from=" not in rest:
            *sources, destination = rest.split()
            pairs |= dict.fromkeys(sources, destination)
    return pairs


def commands(part: str) -> list[str]:
    """Return the commands with this text in them."""
    return [command for name, rest in INSTRUCTIONS if name == "RUN" for command in rest.split("&&") if part in command]


def build_wheel(folder: Path) -> Path:
    """Build the wheel as the image does, and return its path."""
    source, wheels = folder / "source", folder / "wheels"
    source.mkdir()
    for name in copied():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (source / name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    (build,) = commands(" wheel ")
    words = [sys.executable if word == "python" else word for word in shlex.split(build)]
    words[words.index("/wheels")] = str(wheels)
    done = subprocess.run(words, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = wheels.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel as the image does, into a folder that takes what it depends on from here; return its programs."""
    venv.create(folder, symlinks=True, with_pip=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    here = dict.fromkeys(path for path in sys.path if Path(path).name == "site-packages")
    # Lines of such a file are put on the search path, without the .pth files in them: not this checkout.
    (packages / "dependencies.pth").write_text("\n".join(here))
    words = ["-m", "pip", "-q", "--python", str(folder / "bin" / "python"), "install", "--no-deps", "--no-index"]
    done = subprocess.run([sys.executable, *words, str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "bin" / "temporal").symlink_to(Path(sys.executable).with_name("temporal"))
    # The kernels of the same sources, which take minutes to compile.
    compiled = packages / "growth_autoscaler" / _OPTIMISER
    for kept in (ROOT / _OPTIMISER).glob("*.nb?"):
        compiled.mkdir(exist_ok=True)
        shutil.copy(kept, compiled)
    return folder / "bin"


def hostile_folder(folder: Path) -> Path:
    """Write packages and modules with the names of the rooms, which cannot be imported, and return their folder."""
    for room in ("api", "worker", "workflows"):
        (folder / room).mkdir(parents=True)
        (folder / room / "__init__.py").write_text(f"raise SystemExit('this is not the {room} of Growth')\n")
    for room in ("planner", "activities", "simulator"):
        (folder / f"{room}.py").write_text(f"raise SystemExit('this is not the {room} of Growth')\n")
    return folder
