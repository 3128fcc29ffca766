"""Hook of MkDocs: pages from outside of docs/, pages of the API reference, and links that work here and in the site.

A page links to other pages and to source files by relative paths, so that it can be read in the repository. In the site
such a link leads to the page made from that file. A link to a file without a page leads to the file in the repository
at `REPO_URL`; if that is not set, it becomes text.
"""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element  # nosec B405: only a type; Markdown parses the pages

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent


class RepositoryLinks(Treeprocessor):
    """Markdown processor that adapts the links of the current page."""

    def __init__(self) -> None:
        self.uris = dict[str, str]()  # of pages and images in the site, by path in the repository
        self.modules = dict[str, str]()  # of pages of the API reference, by path of the module
        self.repository = ""
        self.page = ""

    def run(self, root: Element) -> None:
        """Adapt the links of a page. Pages of the API reference have no file, and no links to files."""
        for cell in root.iter("td"):
            for code in cell.iter("code"):
                # `\|` is a `|` on code hosts; Python-Markdown keeps the backslash.
                code.text = (code.text or "").replace("\\|", "|")
        folder = next((posixpath.dirname(path) for path, uri in self.uris.items() if uri == self.page), None)
        if folder is not None:
            for element in root.iter():
                for attribute in {"href", "src"}.intersection(element.keys()):
                    self._adapt(element, attribute, folder)

    def _adapt(self, element: Element, attribute: str, folder: str) -> None:
        link = urlsplit(element.get(attribute, ""))
        if link.scheme or not link.path:
            return
        path = posixpath.normpath(posixpath.join(folder, link.path))
        below = (uri for at, uri in self.uris.items() if at.startswith(f"{path}/"))
        # A folder is represented by its first page.
        uri = self.uris.get(path) or self.modules.get(path) or next(below, None)
        if uri is not None:
            relative = posixpath.relpath(uri, posixpath.dirname(self.page))
            element.set(attribute, link._replace(path=relative).geturl())
        elif self.repository:
            element.set(attribute, f"{self.repository}/blob/HEAD/{path}")
        else:
            element.tag = "span"
            element.attrib = {"title": f"{path} in the repository"}


class RepositoryLinksExtension(Extension):
    """Markdown extension that registers `RepositoryLinks`, before MkDocs resolves and validates links."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Add the processor to a converter."""
        md.treeprocessors.register(links, "repository_links", 10)


links = RepositoryLinks()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Register the Markdown extension."""
    links.repository = config.extra["repository"].rstrip("/")
    config.markdown_extensions.append(RepositoryLinksExtension())
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add pages and images from outside of docs/, and a page for each module of the API reference."""
    for uri, path in config.extra["elsewhere"].items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    links.uris = {
        Path(file.abs_src_path).relative_to(ROOT).as_posix(): file.src_uri
        for file in files
        if file.abs_src_path and ROOT in Path(file.abs_src_path).parents
    }
    for uri in _reference(config.nav):
        module = posixpath.basename(uri).removesuffix(".md")
        links.modules[_source(module)] = uri
        files.append(File.generated(config, uri, content=f"# {module}\n\n::: {module}\n"))
    return files


def _source(module: str) -> str:
    """Return the path of a module in the repository: links to it lead to its page."""
    path = module.replace(".", "/")
    files = (f"{folder}{path}{end}" for folder in ("", "tools/", "apiserver/") for end in (".py", "/__init__.py"))
    return next(file for file in files if (ROOT / file).is_file())


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Set the page whose links are adapted next. The first page has no navigation beside it."""
    links.page = page.file.src_uri
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    return markdown


def _reference(nav: Any) -> Iterator[str]:
    """Yield the pages of the API reference in the navigation."""
    if isinstance(nav, str):
        if nav.startswith("reference/"):
            yield nav
    else:
        for item in nav.values() if isinstance(nav, dict) else nav:
            yield from _reference(item)
