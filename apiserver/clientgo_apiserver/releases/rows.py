"""Rows of data files that only some releases have: those with the words `since=`, `until=`, `gate=` or `gate=!`."""

import re
from collections.abc import Iterable, Iterator

from clientgo.meta.schema.gotypes import is_in_range
from clientgo_apiserver.releases.release import current

_WORDS = re.compile(r" (since|until|gate)=(\S+)")


def served_rows(rows: Iterable[str]) -> Iterator[str]:
    """Yield the rows of the current release, without these words; `gate=!Name` means that the gate is off."""
    release = current()
    for row in rows:
        if " gate=" not in row and "=1." not in row:  # nearly always
            yield row
            continue
        gates = (gate for word, gate in _WORDS.findall(row) if word == "gate")
        if is_in_range(row, release.minor) and all(
            release.enabled(gate.removeprefix("!")) is not gate.startswith("!") for gate in gates
        ):
            yield _WORDS.sub("", row)
