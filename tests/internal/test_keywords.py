"""Keywords of methods, derived from a dataclass."""

import inspect
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.internal.keywords import keywords_of


@dataclass(frozen=True, kw_only=True)
class Options:
    workers: int = 1
    name: str = ""


class Configured:
    @keywords_of(Options)
    def __init__(self, **keywords: Any) -> None:
        self.options = Options(**keywords)

    @classmethod
    @keywords_of(Options)
    def __init_subclass__(cls, **keywords: Any) -> None:
        cls.declared = Options(**keywords)

    declared = Options()


def test_signature_has_the_fields_of_the_dataclass() -> None:
    assert str(inspect.signature(Configured)) == "(*, workers: int = 1, name: str = '') -> None"


def test_keywords_are_passed_on() -> None:
    class Named(Configured, name="a"):
        pass

    assert Named.declared == Options(name="a")
    assert Named(workers=2).options == Options(workers=2)
    wrong: Any = Configured
    with pytest.raises(TypeError, match="unexpected keyword argument 'worker'"):
        wrong(worker=2)
