"""Templates of the scaffold: several files, or lines to insert into files, in one text.

    -- config/samples/{{sample}}.yaml --
    the whole text of a file
    -- main.py @ imports --
    lines that go above the line `# +clientgo:scaffold:imports` of main.py

Words in double braces, without spaces, are replaced, also in paths. There are no conditions and no loops: variants are
templates of their own. In YAML, a word that is a complete value is quoted if it would be read as another type: a
project may be named `on`, and a kind `Y`.
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
    """A file, or with a `marker`, lines to insert into an existing file."""

    path: str
    text: str
    marker: str = ""


def parts(name: str, values: Mapping[str, str | bool]) -> Iterator[Part]:
    """Yield the parts of a template with its words replaced.

    Raises:
        KeyError: a word has no value.
    """
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
