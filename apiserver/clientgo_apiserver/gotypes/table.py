"""The table of Go types, `types.txt`, in the grammar of `clientgo.meta.schema.gotypes`, with further rows.

Its sections are in the order of discovery. Rows of kinds, besides their fields:

- `resource`: plural, scope, `short=` names, `categories=`, further words that `registry.builtin` explains, and fields
  that field selectors can name (`select=`) besides metadata.name and metadata.namespace
- `subresource`: name, kind (with group and version if they are not those of the resource), verbs; of those that are
  neither `status` nor `scale`
- `column`: title, two or more spaces, and the value, as `printers.columns` explains

A field with `gate=` is not stored while a gate that it names is off.

`internal` rows have the fields of Kubernetes' internal type in their order, by their names in Go, and their types where
these differ; types without such rows are the same there.
"""

from pathlib import Path

from clientgo.meta.schema.gotypes import Section, read_table
from clientgo_apiserver.releases.release import cached_by_release, current

FILE = Path(__file__).with_name("types.txt")


@cached_by_release
def sections() -> dict[str, Section]:
    """Return the sections of the table by API version, as the current release has them."""
    return read_table(FILE.read_text(encoding="utf-8"), current().minor)
