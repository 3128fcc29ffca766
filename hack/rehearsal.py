"""Rehearsal of a release: python -m hack.rehearsal; `make rehearse` runs it.

In a clone, `make release` and `make dist` build what would be published. pip and uv install every distribution from the
folder of archives into fresh environments, as wheels and as source archives. A project is scaffolded with the wheels,
installs them by their hashes, and `clientgo doctor` checks it beside a cluster. Nothing leaves this machine.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from hack.checkout import DISTRIBUTIONS, ROOT, requirements, version
from hack.dist import DistError, run, say
from hack.smoke import FOO, Environment, SmokeFailed, expect

BUILD_TOOL = "setuptools>=77"


def release(folder: Path, new: str) -> Path:
    """Release a clone of the current commit, and return the folder of its archives."""
    clone = folder / "clone"
    run(["git", "clone", "--quiet", ROOT, clone])
    for key, value in (("user.name", "Rehearsal"), ("user.email", "rehearsal@example.com")):
        run(["git", "config", key, value], cwd=clone)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(clone), str(clone / "tools")))}
    stamp = Path(sys.prefix) / ".dev"  # of this checkout's tools, which the clone uses
    make = ["make", f"VENV={sys.prefix}", f"--old-file={stamp}"]
    say(f"make release VERSION={new}")
    run([*make, "release", f"VERSION={new}"], cwd=clone, env=environment)
    say("make dist")
    run([*make, "dist", "ARGS=--no-smoke"], cwd=clone, env=environment)
    return clone / "dist"


def third_parties() -> list[str]:
    """Return the requirements of all distributions on packages of others."""
    names = (line for name in DISTRIBUTIONS for line in requirements(name))
    return sorted({line for line in names if line.partition(">=")[0] not in DISTRIBUTIONS})


def with_third_parties(folder: Path) -> Environment:
    """Return a fresh environment in which only the distributions are missing, and what builds them.

    These never come from a package index: their names there could be anybody's.
    """
    environment = Environment(folder)
    environment.run(uv(), "pip", "install", "--quiet", "--python", str(environment.venv), *third_parties(), BUILD_TOOL)
    return environment


def uv() -> str:
    """Return the path of uv, which the development tools include."""
    path = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if path is None:
        raise DistError("uv is not installed: run make venv")
    return path


def install(environment: Environment, tool: str, archives: Path, *, source: bool = False) -> None:
    """Install all distributions from the archives of a folder by pip or uv, with the versions that they require."""
    options = ["--quiet", "--no-index", "--find-links", str(archives)]
    if source:
        options += ["--no-build-isolation", *(word for name in DISTRIBUTIONS for word in ("--no-binary", name))]
    if tool == "pip":
        environment.pip("install", "--no-compile", *options, *DISTRIBUTIONS)
    else:
        environment.run(uv(), "pip", "install", "--python", str(environment.venv), *options, *DISTRIBUTIONS)
    environment.pip("check")


def megabytes(folder: Path) -> float:
    """Return the size of the files below a folder, as du counts it."""
    return sum(path.lstat().st_blocks for path in folder.rglob("*")) * 512 / 1e6


def scaffold(folder: Path, archives: Path) -> None:
    """Create a project with the wheels, install it by their hashes, and let `clientgo doctor` examine it."""
    tools = with_third_parties(folder / "tools")
    install(tools, "uv", archives)
    project = folder / "project"
    project.mkdir()
    [wheel] = archives.glob("clientgo-*.whl")
    origin = ("--clientgo-from", str(wheel))
    tools.run("clientgo", "init", "--domain", "example.com", "--project-name", "rehearsal", *origin, cwd=project)
    tools.run("clientgo", "create", "api", *FOO, cwd=project)

    operator, developers = Environment(folder / "operator"), Environment(folder / "developers")
    for environment, file in ((operator, "requirements.txt"), (developers, "requirements-dev.txt")):
        environment.run(uv(), "pip", "install", "--quiet", "--python", str(environment.venv), "pip")
        environment.run("sh", "hack/install.sh", file, "--quiet", "--no-compile", cwd=project)
        environment.run("python", "-m", "pip", "check")
    operator.run("python", "main.py", "--help", cwd=project)
    operator.pip("uninstall", "--quiet", "--yes", "pip")
    say(f"environment of an operator: {megabytes(operator.venv):.0f} MB")
    developers.run("make", "manifests", "generate", "lint", "test", cwd=project)
    examine(developers, project)


def examine(environment: Environment, project: Path) -> None:
    """Run `clientgo doctor` beside a cluster with the project's CRDs; it may report neither problem nor warning."""
    with environment.start("make", "cluster", cwd=project) as child:
        child.wait_for("export KUBECONFIG=|kubeconfig")
        environment.run("make", "install", cwd=project)
        lines = environment.run("make", "doctor", cwd=project).splitlines()
        child.signal_group(signal.SIGINT)
        child.end()
    unclean = [line for line in lines if not re.match(r"(\x1b\[\d+m)?ok\b", line)]
    expect(not unclean, "\n".join(["clientgo doctor is not clean:", *unclean]))
    say(f"clientgo doctor: {len(lines)} lines, all ok")


def rehearse(folder: Path, new: str) -> None:
    """Run all steps in a folder.

    Raises:
        DistError: the release cannot be built.
        SmokeFailed: something that is installed from it does not work.
    """
    archives = release(folder, new)
    for tool in ("pip", "uv"):
        for source in (False, True):
            say(f"{tool} installs {'source archives' if source else 'wheels'}")
            environment = with_third_parties(folder / f"{tool}-{source}")
            install(environment, tool, archives, source=source)
            expect(new in environment.run("clientgo", "version"), f"clientgo version does not print {new}")
    say("a project is scaffolded with the wheels, and installs them by their hashes")
    scaffold(folder / "scaffold", archives)


def main(arguments: Iterable[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m hack.rehearsal", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("version", nargs="?", default=version("clientgo"), help="version to release (the current one)")
    options = parser.parse_args([*arguments])
    with tempfile.TemporaryDirectory() as folder:
        try:
            rehearse(Path(folder), options.version)
        except (DistError, SmokeFailed, subprocess.SubprocessError) as error:
            sys.stderr.write(f"error: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
