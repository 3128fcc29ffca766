"""Tables of Kubernetes' Go types: their grammar, and a reader that parses a type when it is first used.

A table is a text with sections, types and rows. `#` begins a comment:

    [v1 io.k8s.api.core.v1]               API version, and the package of its types in OpenAPI
    Protocol string(SCTP|TCP|UDP)         type: name, the Go type that it names (values of an enum in brackets), marks
    ContainerPort                         struct: the rows below it are its fields
      3 containerPort! int32              field: protobuf number, JSON name (`!`: required), Go type, options
      4 protocol Protocol default=TCP

Types of other sections are those of `v1` and `meta.k8s.io/v1`. A section with `of=API_VERSION kinds=A,B gate=GATE` has
these kinds, and all types, of another one, without their ranges: versions before a kind became generally available. A
number `-` is not known, and the kind is not read from protobuf. A field `~` is embedded: its fields belong to the
object around it; with the number 0 only in JSON.

Marks of types: `kind` and `kinds` (kinds have apiVersion and kind; `kinds` exist in every group), `list` (kind with a
list type), `atomic` (one field for server-side apply), `union=discriminator:fields`, `schema=` (JSON that is not an
object of the fields), `package=` (if it is not the section's), `private` (no definition in OpenAPI).

TypeOptions of fields:

- `always` or `omitempty`: whether JSON has a zero, if that does not follow from the rest: a struct is always written,
  and so is a required field that is not a pointer
- `present`: an empty list or map, which is not stored, is not absent for defaults and admission
- `removed`: a field of a feature that no version has any longer, and that is not stored
- `default=`: default in OpenAPI; fields that are always written have their zero as such
- `set=`: default that only the server sets; `if=field:values`: only if another field has one of these values, or none
- `list=type:keys`, `map=type`, `patch=strategies:key`: rules of server-side apply and of strategic merge patches
- `go=`: name of the field in Go, if it is not the capitalized JSON name

Types, fields and resources can have `since=` and `until=`, their first and last minor version of Kubernetes, in a table
of several; a field that has changed has a row for each form. `gate=` names the feature gates that a field needs.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import msgspec

from clientgo.internal.patterns import lazy_pattern

_TYPE = lazy_pattern(r"^(\w+)(.*)((?:\n  .*)*)", re.MULTILINE)
_BASE = lazy_pattern(r"(?:\[\]|map\[\w+\])*\w+(?:\([^)]*\))?(?![^ ])")
_DIGITS = frozenset("-0123456789")
CORE, META = "v1", "meta.k8s.io/v1"
"""API versions whose types all others can name."""
_MARKS = frozenset(("kind", "kinds", "list", "atomic", "private"))
_RANGE = lazy_pattern(r" (since|until)=1\.(\d+)")
NEWEST = 1_000
"""Minor version that is newer than every other one."""

TypeOptions = Mapping[str, str]
"""TypeOptions or marks by name; the value of one without `=` is empty."""


class GoField(msgspec.Struct, frozen=True):
    """Field of a Go type; the number is None if it is not known."""

    number: int | None
    name: str
    required: bool
    type: str
    words: str = ""

    @property
    def options(self) -> TypeOptions:
        """The options, parsed each time."""
        return parse_options(self.words)


def _parse_field(row: str) -> GoField:
    _, _, digits, name, text = row.split(" ", 4)
    if "(" in text:  # values of an enum may contain spaces
        text, bracket, words = text.partition(")")
        text += bracket
    else:
        text, _, words = text.partition(" ")
    required = name.endswith("!")
    number = None if digits == "-" else int(digits)
    return GoField(number, name[:-1] if required else name, required, text, words)


def _split_base(head: str) -> tuple[str, str]:
    match = _BASE.match(head)
    return ("", head) if match is None or match[0] in _MARKS else (match[0], head[match.end() :])


def is_in_range(row: str, minor: int) -> bool:
    """Report whether a row applies to a minor version of Kubernetes."""
    if "=1." not in row:  # nearly always
        return True
    bounds = _RANGE.findall(row)
    return all(minor >= int(number) if bound == "since" else minor <= int(number) for bound, number in bounds)


class GoType:
    """Type of a table, in a minor version; `base` is the type that it names, or empty for a struct."""

    __slots__ = ("_fields", "_minor", "_rows", "base", "marks", "name")

    def __init__(self, name: str, head: str, rows: str, minor: int = NEWEST) -> None:
        self.name = name
        self._rows = rows
        self._minor = minor
        self._fields: tuple[GoField, ...] | None = None
        self.base, words = _split_base(head.removeprefix(" ")) if head else ("", "")
        self.marks = parse_options(words)

    @property
    def fields(self) -> tuple[GoField, ...]:
        """The fields in the order of the Go struct, in which JSON has them."""
        if self._fields is None:
            rows = self._rows.split("\n")
            self._fields = tuple(
                [_parse_field(row) for row in rows if row[2:3] in _DIGITS and is_in_range(row, self._minor)]
            )
        return self._fields

    def rows(self, word: str) -> Iterator[str]:
        """Yield the rows that begin with a word, without it."""
        prefix = f"\n  {word} "
        rows = (row.partition("\n")[0] for row in self._rows.split(prefix)[1:])
        return (row for row in rows if is_in_range(row, self._minor))


class Section:
    """Types of an API version, in a minor version of Kubernetes."""

    def __init__(self, text: str, table: "Mapping[str, Section]", minor: int) -> None:
        head, _, self._text = text.partition("]\n")
        self._minor = minor
        self.api_version, self.package, *words = f"{head} ".split(" ")
        self._options = parse_options(" ".join(words))
        self._is_served = is_in_range(head, minor)
        group, _, self.version = self.api_version.rpartition("/")
        self.group = "" if self.api_version == META else group
        self._table = table

    @cached_property
    def types(self) -> Mapping[str, GoType]:
        """The types by name."""
        if self.is_earlier_version:
            return dict(self._types_of_another()) if self._is_served else {}
        return {
            name: GoType(name, head, rows, self._minor)
            for name, head, rows in _TYPE.findall(self._text)
            if is_in_range(head, self._minor)
        }

    def _types_of_another(self) -> Iterator[tuple[str, GoType]]:
        kinds, gate = self._options["kinds"].split(","), self._options["gate"]
        for name, head, rows in _TYPE.findall(self._table[self._options["of"]]._text):
            if name in kinds or " kind" not in head:
                head = _RANGE.sub("", head) + (f" gate={gate}" if name in kinds else "")
                yield name, GoType(name, head, rows, self._minor)

    @property
    def is_earlier_version(self) -> bool:
        """True if the types are those of another section, which has a later version of the API."""
        return "of" in self._options

    def find(self, name: str) -> "tuple[Section, GoType] | None":
        """Return the type that a name stands for in this section, and the section that has it; None without one."""
        for section in (self, self._table.get(CORE), self._table.get(META)):
            entry = None if section is None else section.types.get(name)
            if section is not None and entry is not None:
                return section, entry
        return None

    def package_of(self, entry: GoType) -> str:
        """Return the package of one of the types in OpenAPI; its last part is that in Go."""
        return entry.marks.get("package", self.package)


def read_table(text: str, minor: int = NEWEST) -> dict[str, Section]:
    """Return the sections of a table by API version, in their order, as a minor version of Kubernetes has them."""
    table: dict[str, Section] = {}
    for part in f"\n{text}".split("\n[")[1:]:
        section = Section(part, table, minor)
        table[section.api_version] = section
    return table


def is_always_written(field: GoField, is_struct: bool) -> bool:
    """Report whether JSON has a field even if it is zero; `is_struct`: its type is a struct, and not a pointer."""
    words = field.words.split()
    if "always" in words:
        return True
    return (field.required or is_struct) and not field.type.startswith("*") and "omitempty" not in words


def value_of(text: str) -> Any:
    """Return the value of an option: JSON, or a string without quotation marks."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def item_of(text: str) -> str:
    """Return the Go type of a pointer's target, of a list's items or of a map's values."""
    return re.sub(r"^\*|\[\](?!byte)|map\[\w+\]", "", text)


def parse_options(words: str) -> TypeOptions:
    """Parse words such as `always list=set`."""
    return {name: value for name, _, value in (word.partition("=") for word in words.split())}


def read_text(name: str) -> str:
    """Return the text of a file beside this module."""
    # Not by importlib.resources, which loads tempfile and shutil: every program reads such a file.
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def builtin_types() -> Mapping[str, GoType]:
    """Return what the library needs to know of the built-in types, by name; if several versions have one, of the first.

    The table is a part of the server's, written by `hack/library_types.py`.
    """
    sections = read_table(read_text("gotypes.txt"))
    return {name: entry for section in reversed(sections.values()) for name, entry in section.types.items()}
