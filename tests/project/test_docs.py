"""The documentation matches the code: examples run, names exist, lists are complete."""

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
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest

from clientgo.testing.eventually import eventually
from tests.processes import MYPY_CACHE, Child, using_mypy_cache

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "clientgo"
SERVER = ROOT / "apiserver" / "clientgo_apiserver"
TOOLS = ROOT / "tools" / "clientgo"
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
HOPS = ARCHITECTURE + (ROOT / "apiserver" / "ARCHITECTURE.md").read_text()
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "artifacts").glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "apiserver").rglob("*.md"),
        *(ROOT / "olm").rglob("*.md"),
        *(ROOT / "tools").rglob("*.md"),
        *(ROOT / "findings").rglob("*.md"),
    ]
)
DECISIONS = [
    decision
    for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))
    for decision in page.read_text().split("\n## ")[1:]
]
OWN_FOLDERS = (
    "apiserver",
    "artifacts",
    "benchmarks",
    ".ci",
    "clientgo",
    "controller",
    "docs",
    "findings",
    "generated",
    "hack",
    "olm",
    "tests",
    "tools",
)


def setup_cfg(folder: Path = ROOT) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(folder / "setup.cfg")
    return parser


def section(page: str, heading: str) -> str:
    [_, after] = page.split(f"\n## {heading}\n")
    return after.split("\n## ")[0]


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of a table's rows, without the header."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


# The README's example, run as it is printed.

EXAMPLE = section(README, "Write a controller")


def example_environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **extra}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """Return a folder with the program."""
    [program] = fenced(EXAMPLE, "python")
    (tmp_path / "greeter.py").write_text(program)
    return tmp_path


def test_example_has_at_most_25_lines_of_code() -> None:
    assert sum(bool(line) for block in fenced(EXAMPLE, "python") for line in block.splitlines()) <= 25


@pytest.mark.e2e
def test_example_works_as_printed(example: Path) -> None:
    [_, started] = fenced(EXAMPLE, "sh")
    [session] = fenced(EXAMPLE, "console")
    commands = [entry.partition("\n") for entry in session.removeprefix("$ ").split("\n$ ")]
    with Child(
        [sys.executable, "-m", "clientgo.cli", *started.split()[1:]],
        example / "output.txt",
        cwd=example,
        env=example_environment(),
    ) as process:
        environ = {**os.environ, "KUBECONFIG": process.wait_for("export KUBECONFIG=").partition("=")[2]}
        process.wait_for("Starting workers")
        for command, _, printed in commands:
            eventually(lambda: answer(command, environ), lambda text: printed.strip() in text)  # noqa: B023
        eventually(lambda: answer("kubectl get configmap hello", environ), lambda text: "hello   1" in text)
        code, output = process.end(signal.SIGINT, seconds=10)
    assert code == 0, output


def answer(command: str, environ: dict[str, str]) -> str:
    done = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout + done.stderr


@pytest.mark.e2e
def test_example_is_strictly_typed(example: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={MYPY_CACHE}", "greeter.py"]
    env = example_environment(MYPYPATH=str(ROOT))
    with using_mypy_cache():
        done = subprocess.run(command, cwd=example, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


# What is listed.


def test_every_dependency_is_explained_and_none_besides() -> None:
    options = setup_cfg()
    extras = options["options.extras_require"]
    declared = "\n".join([options["options"]["install_requires"], *extras.values(), required_by(SERVER)])
    names = set(re.findall(r"^([A-Za-z][\w-]*)", declared, re.MULTILINE)) - {
        "clientgo",
        "clientgo-apiserver",
        "clientgo-olm",
        "clientgo-tools",
    }
    assert {name.strip("`") for name, *_ in rows((ROOT / "docs/dependencies.md").read_text())} == names


def statements(parent: ast.AST, *, waits: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield every statement below a node, and whether it is inside a function."""
    waits = waits or isinstance(parent, ast.FunctionDef)
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(parent, block, ()):
            if isinstance(node, ast.stmt):
                yield node, waits
            yield from statements(node, waits=waits)


@functools.cache
def imports_of(path: Path) -> tuple[tuple[tuple[str, ...], bool], ...]:
    """Return the modules named by each import of a file, and whether it is lazy."""
    matches = []
    for node, waits in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            matches.append((tuple(alias.name for alias in node.names), waits))
        elif isinstance(node, ast.ImportFrom):
            matches.append(((node.module or "",), waits))
    return tuple(matches)


def imported_distributions(package: Path) -> set[str]:
    """Return the other distributions that a package imports; `clientgo` is that of the library."""
    matches = [modules for path in package.rglob("*.py") for modules, _ in imports_of(path)]
    modules = {module for names in matches for module in names}
    tops = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {package.name}
    distributions = {**importlib.metadata.packages_distributions(), "clientgo": ["clientgo"]}
    return {name.lower().replace("_", "-") for top in tops for name in distributions[top]}


def required_by(package: Path) -> str:
    return setup_cfg(package.parent)["options"]["install_requires"]


def test_what_the_library_imports_is_declared() -> None:
    options = setup_cfg()
    extras = options["options.extras_require"]
    declared = (
        options["options"]["install_requires"] + extras["secure-serving"] + extras["socks"] + extras["auth-providers"]
    )
    assert imported_distributions(LIBRARY) <= set(re.findall(r"^([a-z][\w-]*)", declared, re.MULTILINE))


def test_what_server_and_tools_import_is_declared() -> None:
    extras = setup_cfg()["options.extras_require"]
    of_the_server = required_by(LIBRARY) + required_by(SERVER)
    of_the_tools = of_the_server + required_by(TOOLS) + extras["completion"] + extras["perturb"]
    for package, declared in ((SERVER, of_the_server), (TOOLS, of_the_tools)):
        assert imported_distributions(package) <= set(re.findall(r"^([a-z][\w-]*)", declared, re.MULTILINE))


def test_run_time_dependencies_are_used() -> None:
    declared = set(re.findall(r"^([a-z][\w-]*)", setup_cfg()["options"]["install_requires"], re.MULTILINE))
    assert declared <= imported_distributions(LIBRARY)


def test_every_guarantee_names_a_test() -> None:
    tables = (ROOT / "docs/guarantees.md").read_text().partition("\n## Guides\n")[::2]
    for guarantee, tests in chain.from_iterable(map(rows, tables)):
        places = re.findall(r"`([^`]+)`", tests)
        assert places, guarantee
        assert [
            location for location in places if not location.startswith("make ") and not (ROOT / location).is_file()
        ] == []


def test_guides_with_guarantees_name_their_tests() -> None:
    listed = [page for page, _ in rows(section((ROOT / "docs/guarantees.md").read_text(), "Guides"))]
    guides = [page for page in sorted((ROOT / "docs/guide").glob("*.md")) if "\n## Guarantees\n" in page.read_text()]
    assert listed == [f"[{page.stem}](guide/{page.name})" for page in guides]


def lazy(sources: Iterable[Path], root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in sources if any(waits for _, waits in imports_of(path))}


def listed_as_lazy(page: Path) -> set[str]:
    text = page.read_text()
    table = section(text, "Lazy imports") if "## Lazy imports" in text else text
    return {module.strip("`") for module, *_ in rows(table)}


def test_every_import_that_waits_is_listed() -> None:
    """An import inside a function is a decision; a page lists its saving."""
    sources = [ROOT / "main.py", *LIBRARY.rglob("*.py"), *TOOLS.rglob("*.py"), *(ROOT / "controller").rglob("*.py")]
    assert lazy(sources, ROOT) == listed_as_lazy(ROOT / "docs" / "performance.md")
    assert lazy(SERVER.rglob("*.py"), SERVER.parent) == listed_as_lazy(SERVER.parent / "docs" / "performance.md")


def test_library_has_at_most_fifteen_lazy_imports() -> None:
    sources = (path for path in LIBRARY.rglob("*.py") if "kubernetes" not in path.relative_to(LIBRARY).parts)
    waiting = [
        (path.name, node.lineno)
        for path in sources
        for node, waits in statements(ast.parse(path.read_text()))
        if waits and isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(waiting) <= 15, waiting


def test_rows_of_the_architecture_are_the_contracts() -> None:
    layers = setup_cfg()["importlinter:contract:rows"]["layers"]
    contracted = [set(re.findall(r"\w+", line)) for line in layers.split("\n") if line.strip()]
    described = [
        set(re.findall(r"`(\w+)`", packages)) for _, packages, _ in rows(section(ARCHITECTURE, "Import rules"))
    ]
    # The lowest rows are one line in the page: the distinction matters to them alone.
    assert described[:-1] == contracted[: len(described) - 1]
    assert described[-1] == set.union(*contracted[len(described) - 1 :])


@pytest.mark.parametrize("hop", re.findall(r"`([\w.]+:[\w.]+)`", HOPS))
def test_hop_exists(hop: str) -> None:
    module, _, path = hop.partition(":")
    result: object = importlib.import_module(module)
    for name in path.split("."):
        result = getattr(result, name)
    assert callable(result)


# What is named.

ABOUT_PROJECTS = (
    "deploy.md",
    "projects.md",
    "tutorial.md",
    "cronjob.md",
    "upgrading.md",
    "022-reload-restarts-the-process.md",
)
"""Pages about the Makefile of a scaffolded project."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_targets_that_are_named_exist(page: Path) -> None:
    text = page.read_text()
    local = tuple(f"{folder}/" for folder in OWN_FOLDERS)
    files = {name for name in re.findall(r"`([\w./-]+)`", text) if name.startswith(local)}
    assert [name for name in sorted(files) if not (ROOT / name).exists()] == []
    repository, scaffolded = ROOT / "Makefile", TOOLS / "cli" / "templates" / "make.tmpl"
    makefiles = [scaffolded] if page.name in ABOUT_PROJECTS else [repository]
    if page.name == "CHANGELOG.md":
        makefiles = [repository, scaffolded]
    texts = [makefile.read_text() for makefile in makefiles]
    targets = {target for text in texts for target in re.findall(r"^([a-z-]+):", text, re.MULTILINE)}
    named = set(re.findall(r"(?:`|^)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert sorted(named - targets) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_test_functions_that_are_named_exist(page: Path) -> None:
    named = re.findall(r"`([\w./-]+\.py)::(\w+)`", page.read_text())
    assert [name for path, name in named if f"def {name}(" not in (ROOT / path).read_text()] == []


def test_every_request_names_a_test_and_a_guide() -> None:
    for request, _, _, tests, guide in rows((ROOT / "docs/reports/requests.md").read_text()):
        assert re.findall(r"`[\w./-]+\.py", tests), request
        assert "](../" in guide, request


def test_every_corrected_defect_of_the_server_names_a_test() -> None:
    table = [*rows((ROOT / "apiserver/docs/corrected.md").read_text())]
    counts = (("S", 18), ("F", 31), ("B", 21), ("V", 6), ("K", 6), ("U", 5), ("R", 12))
    numbered = [f"{letter}-{n:02}" for letter, count in counts for n in range(1, count + 1)]
    assert [row for row, _, _ in table] == numbered
    assert [row for row, _, tests in table if not re.search(r"`[\w./-]+\.py::\w+`", tests)] == []


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"\]\([^)]*\)", "]", prose(page)), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "examples" / "README.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#?([\w-]*)\)", prose(page))
    assert [link for link, _ in links if not (page.parent / link).exists()] == []
    targets = [(page.parent / link if link else page, anchor) for link, anchor in links if anchor]
    assert [(path.name, anchor) for path, anchor in targets if anchor not in anchors(path)] == []


@pytest.mark.e2e
def test_flags_that_are_named_exist() -> None:
    help_text = subprocess.run(
        [sys.executable, "main.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    ours = section(README, "The sample controller") + (ROOT / "artifacts/README.md").read_text()
    named = set(re.findall(r"(?:`| main.py |ARGS=\")(--[a-z][a-z-]+)", ours)) - {"--help"}
    assert len(named) > 5
    assert sorted(flag for flag in named if flag not in help_text) == []


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: decision[:3])
def test_decision_is_short_and_whole(decision: str) -> None:
    assert len(decision.splitlines()) <= 45
    assert re.match(r"\d{3} \S", decision)
    assert re.findall(r"^### (.+)$", decision, re.MULTILINE)[:3] == ["Context", "Choice", "Rejected"]


def test_decisions_are_numbered_without_gaps() -> None:
    assert sorted(decision[:3] for decision in DECISIONS) == [f"{1 + n:03}" for n in range(len(DECISIONS))]
