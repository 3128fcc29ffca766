"""Templates: several files, or lines to put into files, in one text that looks like them.

    -- config/samples/{{sample}}.yaml --
    the whole text of a file
    -- main.py @ imports --
    lines that go above the line `# +clientgo:scaffold:imports` of main.py

Words in double braces, without spaces, are replaced, in paths too. There are no conditions and no loops: what varies is
which archives are used. In YAML a word that is a whole value is quoted if a reader would take it for another type: a
project may be called `on`, and a kind `Y`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

from clientgo.meta.yamlio import to_scalar

_HEAD = re.compile(r"^-- (?P<path>\S+)(?: @ (?P<marker>[a-z]+))? --\n", re.MULTILINE)
_WORD = re.compile(r"\{\{(\w+)\}\}")
_SCALAR = re.compile(r"([:-] \[?)\{\{(\w+)\}\}(?=\]?$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """A file's path and text; with a `marker`, lines for a file that is there."""

    path: str
    text: str
    marker: str = ""


def parts(name: str, values: Mapping[str, str | bool]) -> Iterator[Part]:
    """Yield the parts of an archive, filled in; a word without a value is a KeyError."""
    source = files("clientgo.cli.templates").joinpath(f"{name}.tmpl").read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(source))
    ends = [*(head.start() for head in heads[1:]), len(source)]
    for head, end in zip(heads, ends, strict=True):
        path, text = _filled(head["path"], values), source[head.end() : end]
        if path.endswith(".yaml"):
            text = _SCALAR.sub(lambda word: word[1] + to_scalar(values[word[2]]), text)
        yield Part(path, _filled(text, values), head["marker"] or "")


def _filled(text: str, values: Mapping[str, str | bool]) -> str:
    return _WORD.sub(lambda word: str(values[word[1]]), text)
