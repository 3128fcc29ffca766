"""Documentation site: its navigation is complete, its links are valid, and it loads nothing from other servers."""

import configparser
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

import clientgo

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = (ROOT / "mkdocs.yml").read_text()
# `!ENV [NAME, default]` reads an environment variable; it does not matter here.
CONFIG: dict[str, Any] = yaml.safe_load(re.sub(r"!ENV ", "", SETTINGS))


def pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for item in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(item)


NAVIGATION = list(pages(CONFIG["nav"]))
ELSEWHERE: dict[str, str] = CONFIG["extra"]["elsewhere"]
MODULES = [page.removeprefix("reference/").removesuffix(".md") for page in NAVIGATION if page.startswith("reference/")]


def test_navigation_has_every_page_once() -> None:
    written = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    expected = written | {uri for uri in ELSEWHERE if uri.endswith(".md")}
    listed = [page for page in NAVIGATION if not page.startswith("reference/")]
    assert sorted(expected - set(listed)) == [], "add new pages to `nav` in mkdocs.yml"
    assert sorted(set(listed) - expected) == [], "remove deleted pages from `nav` in mkdocs.yml"
    assert len(listed) == len(set(listed))


def test_reports_are_linked_from_other_pages() -> None:
    other_items = [ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if DOCS / "reports" not in page.parents)]
    text = "".join(page.read_text() for page in other_items)
    reports = [str(page.relative_to(DOCS)) for page in (DOCS / "reports").rglob("*.md")]
    assert [report for report in reports if report not in text] == []


def test_pages_from_outside_of_docs_exist() -> None:
    assert [path for path in ELSEWHERE.values() if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("module", MODULES)
def test_module_in_the_reference_exists(module: str) -> None:
    assert importlib.util.find_spec(module) is not None


def test_reference_has_every_package_with_a_list_of_public_names() -> None:
    packages = {
        path.parent
        for folder in map(Path, clientgo.__path__)
        for path in folder.glob("*/__init__.py")
        if "__all__ = " in path.read_text()
    }
    assert len(packages) > 10
    assert {f"clientgo.{package.name}" for package in packages} <= set(MODULES)


def test_reference_has_every_module_that_the_guides_import() -> None:
    text = "\n".join(page.read_text() for page in [ROOT / "README.md", *(DOCS / "guide").glob("*.md")])
    imported = set(re.findall(r"^from (clientgo\.(?!kubernetes\.)\S+) import", text, re.MULTILINE))
    assert len(imported) > 20
    assert sorted(imported - set(MODULES)) == []


def test_tools_of_the_site_have_upper_bounds_and_are_not_part_of_dev() -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    extras = parser["options.extras_require"]
    expected = [line for line in extras["docs"].split("\n") if line and not line.startswith("#")]
    assert [line for line in expected if not re.search(r"<|==", line)] == []
    assert "mkdocs" not in extras["dev"]


@pytest.mark.parametrize("page", [page for page in NAVIGATION if not page.startswith("reference/")])
def test_lists_begin_after_an_empty_line(page: str) -> None:
    """Code hosts accept a list in the middle of a paragraph, Python-Markdown does not."""
    text = (ROOT / ELSEWHERE.get(page, f"docs/{page}")).read_text()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^(?!\s*(?:[-*]|\d+\.) |#|  ).+\n(?:[-*]|1\.) .*", prose, re.MULTILINE) == []


# The built site.


class Links(HTMLParser):
    """Collects what a page loads, and what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded, self.linked = list[str](), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        arguments = {name: value or "" for name, value in attrs}
        if tag == "a":
            self.linked.append(arguments.get("href", ""))
        else:
            self.loaded += [arguments[name] for name in ("href", "src") if name in arguments]


def mkdocs() -> list[str]:
    """Return the command; skip the test if MkDocs is not installed."""
    if importlib.util.find_spec("mkdocs"):
        return [sys.executable, "-m", "mkdocs"]
    if result := shutil.which("mkdocs", path=str(ROOT / ".venv-docs" / "bin")):
        return [result]
    pytest.skip("MkDocs is not installed: `make docs` installs it into .venv-docs")


def site(folder: Path) -> Path:
    """Build the site, with warnings as errors."""
    done = subprocess.run(
        [*mkdocs(), "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=170,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_site_builds_without_warnings_and_loads_nothing_from_other_servers(tmp_path: Path) -> None:
    built = sorted(site(tmp_path).rglob("*.html"))
    assert len(built) > len(NAVIGATION)
    for page in built:
        links = Links()
        links.feed(page.read_text())
        if page.name == "404.html":  # its links start at the root of a server
            continue
        assert [link for link in links.loaded if re.match(r"(https?:)?//", link)] == [], page
        local = {link.partition("#")[0] for link in links.linked if not re.match(r"[a-z]+:", link)}
        assert [link for link in sorted(local) if not (page.parent / link).exists()] == [], page
    queues = (tmp_path / "reference" / "clientgo.workqueue.html").read_text()
    names = {name.removeprefix("clientgo.workqueue.") for name in re.findall(r'<h[23] id="([\w.]+)"', queues)}
    assert {"RateLimitingQueue", "WorkQueue.add_rate_limited", "ShutDown"} <= names
    assert [name for name in names if re.search(r"(^|\.)_(?!_)", name)] == [], "no private members"
