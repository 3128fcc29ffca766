"""Random sentences of a format, from a grammar: input that is mostly valid and reaches what random bytes do not."""

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

Rule = Sequence[str] | Callable[[Random], bytes]

_REFERENCE = re.compile(r"<([a-z-]+)>")
_DEEPEST = 40


class Grammar:
    """Rules by name: alternatives with `<references>` to other rules, or a function; `start` is the first.

    Below the deepest level the first alternative of a rule is used, which must not refer to the rule itself.
    """

    def __init__(self, **rules: Rule) -> None:
        self._rules: Mapping[str, Rule] = {name.replace("_", "-"): rule for name, rule in rules.items()}

    def sentence(self, rng: Random) -> bytes:
        """Return a random sentence; the same state of `rng` gives the same one."""
        return self._expand("start", rng, 0)

    def _expand(self, name: str, rng: Random, depth: int) -> bytes:
        rule = self._rules[name]
        if callable(rule):
            return rule(rng)
        alternative = rule[0] if depth > _DEEPEST else rng.choice(rule)
        pieces = _REFERENCE.split(alternative)
        return b"".join(
            self._expand(part, rng, depth + 1) if location % 2 else part.encode("latin-1")
            for location, part in enumerate(pieces)
        )


def repeated(make: Callable[[Random], bytes], *, most: int = 5) -> Callable[[Random], bytes]:
    """Return a rule of up to `most` sentences of another, rarely of many."""
    return lambda rng: b"".join(make(rng) for _ in range(rng.randrange(most + 1) if rng.random() < 0.95 else 300))
