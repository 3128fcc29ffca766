"""Templates: several files, or lines to put into files, in one text that looks like them.

    -- config/samples/{{sample}}.yaml --
    the whole text of a file
    -- main.py @ imports --
    lines that go above the line `# +clientgo:scaffold:imports` of main.py

Words in double braces, without spaces, are replaced, in paths too. There are no conditions and no loops: what varies is
which archives are used.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files

_HEAD = re.compile(r"^-- (?P<path>\S+)(?: @ (?P<marker>[a-z]+))? --\n", re.MULTILINE)
_WORD = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Part:
    """A file's path and text; with a `marker`, lines for a file that is there."""

    path: str
    text: str
    marker: str = ""


def parts(name: str, values: Mapping[str, str]) -> Iterator[Part]:
    """What the archive of that name says, filled in; a word without a value is a KeyError."""
    source = files("clientgo.cli.templates").joinpath(f"{name}.tmpl").read_text(encoding="utf-8")
    text = _WORD.sub(lambda word: values[word[1]], source)
    heads = list(_HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    for head, end in zip(heads, ends, strict=True):
        yield Part(head["path"], text[head.end() : end], head["marker"] or "")
