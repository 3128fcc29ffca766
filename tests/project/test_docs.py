"""The documentation, held to the code: what it shows runs, what it names exists, what it lists is complete."""

import ast
import configparser
import functools
import importlib
import importlib.metadata
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.envtest import Environment
from clientgo.kubernetes.clients.core_v1 import CoreV1
from clientgo.rest import RESTClient
from tests.processes import Child

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
OWN_PACKAGES = ("clientgo", "controller", "generated", "tests", "hack", "docs", "artifacts", "benchmarks", ".ci")


def setup_cfg() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def section(page: str, heading: str) -> str:
    [_, after] = page.split(f"\n## {heading}\n")
    return after.split("\n## ")[0]


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str) -> Iterator[list[str]]:
    """The cells of a table's lines, without its two header lines."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


# A kind of one's own: the README's blocks, run as they stand.

OWN_KIND = section(README, "`clientgo` for a kind of your own")


def own_kind_environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


@pytest.fixture
def own_kind(tmp_path: Path) -> Path:
    """A folder with the two files, and with what the command makes of the first."""
    types, controller = fenced(OWN_KIND, "python")
    (tmp_path / "greetings.py").write_text(types)
    (tmp_path / "greeter.py").write_text(controller)
    [command] = fenced(OWN_KIND, "sh")
    program, *arguments = command.split()
    assert program == "python"
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=own_kind_environment(), check=True, timeout=60)
    return tmp_path


def test_own_kind_takes_at_most_forty_lines_of_code() -> None:
    assert sum(bool(line) for block in fenced(OWN_KIND, "python") for line in block.splitlines()) <= 40


@pytest.mark.e2e
def test_own_kind_works_as_the_readme_has_it(own_kind: Path) -> None:
    kubeconfig = own_kind / "kubeconfig"
    with Environment(crd_paths=[own_kind / "crds"], kubeconfig=kubeconfig, bundled=True) as config:
        client = RESTClient(config)
        sys.path.insert(0, str(own_kind))
        try:
            greetings = importlib.import_module("greetings")
            clientset = importlib.import_module("made.clientset").Clientset(client)
        finally:
            sys.path.remove(str(own_kind))
        meta = importlib.import_module("clientgo.meta").ObjectMeta(name="hello")
        greeting = greetings.Greeting(meta, greetings.GreetingSpec("good morning"))
        clientset.example_v1.greetings("default").create(greeting)
        command, environ = [sys.executable, "greeter.py"], own_kind_environment(KUBECONFIG=str(kubeconfig))
        with Child(command, own_kind / "output.txt", cwd=own_kind, env=environ) as process:
            watch = CoreV1(client).config_maps("default").watch(timeout_seconds=20)
            texts = (event.object.data.get("text") for event in watch if event.object.metadata.name == "hello")
            assert next(texts, "the watch ended first") == "good morning"
            _, complaints = process.end(signal.SIGINT, seconds=10)
        client.close()
        assert complaints.splitlines()[-1] == "KeyboardInterrupt"


@pytest.mark.e2e
def test_own_kind_is_strictly_typed(own_kind: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            f"--cache-dir={ROOT / '.mypy_cache' / 'docs'}",
            "greetings.py",
            "greeter.py",
        ],
        cwd=own_kind,
        env=own_kind_environment(MYPYPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout


# What is listed.


def test_every_dependency_is_explained_and_none_besides() -> None:
    options = setup_cfg()
    extras = options["options.extras_require"]
    declared = "\n".join([options["options"]["install_requires"], *extras.values()])
    names = set(re.findall(r"^([A-Za-z][\w-]*)", declared, re.MULTILINE)) - {"clientgo"}
    assert {name.strip("`") for name, *_ in rows(section(README, "What it stands on"))} == names


def statements(parent: ast.AST, *, waits: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Every statement below a node, and whether it waits for a function to be called."""
    waits = waits or isinstance(parent, ast.FunctionDef)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(parent, block, ()):
            if isinstance(node, ast.stmt):
                yield node, waits
            yield from statements(node, waits=waits)


@functools.cache
def imports_of(path: Path) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """The modules that each import of a file names, and whether it waits."""
    found = []
    for node, waits in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.append((tuple(alias.name for alias in node.names), waits))
        elif isinstance(node, ast.ImportFrom):
            found.append(((node.module or "",), waits))
    return tuple(found)


def imported_distributions() -> set[str]:
    """What the library imports that is not Python's own, by the names packages are installed under."""
    found = [modules for path in (ROOT / "clientgo").rglob("*.py") for modules, _ in imports_of(path)]
    modules = {module for names in found for module in names}
    tops = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {"clientgo"}
    distributions = importlib.metadata.packages_distributions()
    return {name.lower().replace("_", "-") for top in tops for name in distributions[top]}


def test_what_the_library_imports_is_declared() -> None:
    options = setup_cfg()
    declared = options["options"]["install_requires"] + options["options.extras_require"]["embedded"]
    assert imported_distributions() <= set(re.findall(r"^([a-z][\w-]*)", declared, re.MULTILINE))


def test_run_time_dependencies_are_used() -> None:
    declared = set(re.findall(r"^([a-z][\w-]*)", setup_cfg()["options"]["install_requires"], re.MULTILINE))
    assert declared <= imported_distributions()


def test_every_promise_names_what_shows_it() -> None:
    for promise, shown_by in rows(section(README, "What is promised, and where it is shown")):
        places = re.findall(r"`([^`]+)`", shown_by)
        assert places, promise
        assert [place for place in places if not place.startswith("make ") and not (ROOT / place).is_file()] == []


def test_every_import_that_waits_is_listed() -> None:
    """An import inside a function is a decision: it saves start-up, and performance.md says how much."""
    sources = [ROOT / "main.py", *(ROOT / "clientgo").rglob("*.py"), *(ROOT / "controller").rglob("*.py")]
    waiting = {str(path.relative_to(ROOT)) for path in sources if any(waits for _, waits in imports_of(path))}
    listed = {
        where.strip("`") for where, *_ in rows(section((ROOT / "docs/performance.md").read_text(), "Lazy imports"))
    }
    assert waiting == listed


def test_rows_of_the_architecture_are_the_contracts() -> None:
    layers = setup_cfg()["importlinter:contract:rows"]["layers"]
    contracted = [set(re.findall(r"\w+", line)) for line in layers.split("\n") if line.strip()]
    described = [
        set(re.findall(r"`(\w+)`", packages)) for _, packages, _ in rows(section(ARCHITECTURE, "What may import what"))
    ]
    # The lowest rows are one line in the page: the distinction matters to them alone.
    assert described[:-1] == contracted[: len(described) - 1]
    assert described[-1] == set.union(*contracted[len(described) - 1 :])


@pytest.mark.parametrize("hop", re.findall(r"`([\w.]+:[\w.]+)`", ARCHITECTURE))
def test_hop_exists(hop: str) -> None:
    module, _, path = hop.partition(":")
    found: object = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    assert callable(found)


# What is named.

ABOUT_PROJECTS = ("projects.md", "tutorial.md", "022-reload-restarts-the-process.md")
"""Pages whose `make` is that of a project which the command has begun."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_targets_that_are_named_exist(page: Path) -> None:
    text = page.read_text()
    files = {
        name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(tuple(f"{p}/" for p in OWN_PACKAGES))
    }
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []
    makefile = "clientgo/cli/templates/make.tmpl" if page.name in ABOUT_PROJECTS else "Makefile"
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / makefile).read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert sorted(named - targets) == []


@pytest.mark.e2e
def test_flags_that_are_named_exist() -> None:
    help_text = subprocess.run(
        [sys.executable, "main.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    ours = section(README, "Two commands") + section(README, "On a real cluster")
    named = set(re.findall(r"(?<![\w-])--[a-z-]+", ours)) - {"--help", "--type"}
    assert sorted(flag for flag in named if flag not in help_text) == []


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_decision_is_short_and_whole(page: Path) -> None:
    text = page.read_text()
    assert len(text.splitlines()) <= 40
    assert text.startswith(f"# {page.name[:3]} ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE)[:3] == ["Context", "Choice", "Rejected"]


def test_no_two_decisions_have_one_number() -> None:
    numbers = [page.name[:3] for page in DECISIONS]
    assert len(numbers) == len(set(numbers))
