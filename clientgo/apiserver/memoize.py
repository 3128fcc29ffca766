"""`lru_cache` for functions of one string, limited to short strings so that its memory is bounded."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

R = TypeVar("R")


def remembered(*, texts: int, longest: int) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Keep a function's answers for so many texts of at most `longest` characters; nobody may change an answer."""

    def of(work: Callable[[str], R]) -> Callable[[str], R]:
        kept = lru_cache(maxsize=texts)(work)

        @wraps(work)
        def answer(text: str) -> R:
            return kept(text) if len(text) <= longest else work(text)

        return answer

    return of
