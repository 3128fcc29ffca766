"""Revisions: children named after their content, of which operators keep the last ones for a roll-back."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clientgo.perturb.differences import StateDifference
from clientgo.perturb.kinds.rehearsal import ended_early
from clientgo.perturb.record import ScenarioRun

MAX_REVISIONS = 12
"""Changes of the spec after which an operator must have deleted its oldest revision; Deployments keep ten."""

_HASH = re.compile(r"(?=[a-z]*\d)[a-z0-9]{5,64}\Z")


def is_revision(difference: StateDifference) -> bool:
    """Return whether an additional object is immutable, or its name ends with a hash."""
    if not difference.is_extra:
        return False
    return difference.actual.get("immutable") is True or bool(_HASH.match(difference.ref.name.rpartition("-")[2]))


@dataclass(frozen=True)
class KeptRevisions:
    """Revisions of earlier states that an operator keeps for a while: not for ever, as `play` shows by more changes."""

    play: Callable[[], ScenarioRun]

    def keep(self, difference: StateDifference) -> bool:
        """Return whether an additional object is such a revision."""
        return is_revision(difference) and not ended_early(self._later) and difference.ref not in self._later.states[-1]

    @cached_property
    def _later(self) -> ScenarioRun:
        return self.play()


def further_specs(before: Any, after: Any) -> Iterator[Any]:
    """Yield specs with further values of the text that is another one in the second of two specs, or of any text."""
    for base, spec in ((before, after), (None, after), (None, before)):
        for path in _texts(base, spec, ()):
            yield from (_with_suffix(spec, path, str(number)) for number in range(1, MAX_REVISIONS + 1))
            return


def _texts(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(after, Mapping):
        for name, member in after.items():
            yield from _texts(before.get(name) if isinstance(before, Mapping) else None, member, (*path, name))
    elif isinstance(after, str) and after != before:
        yield path


def _with_suffix(value: Any, path: tuple[str, ...], suffix: str) -> Any:
    if not path:
        return f"{value}{suffix}"
    name, *inner = path
    return {**value, name: _with_suffix(value[name], tuple(inner), suffix)}
