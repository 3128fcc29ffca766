"""Generated modules whose classes have the names of library classes."""

import ast

import pytest

from clientgo.codegen.files import faults
from clientgo.codegen.render.collisions import distinct

STATUS = """from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.create import ClientGroup

from api.v1.status_types import Status


class StatusClient(StatusClient[Status]):
    kind = Status


class FooClient(TypedClient[Foo]):
    kind = Foo


class AV1(ClientGroup):
    def statuses(self) -> StatusClient:
        return StatusClient(self._requester)
"""


def test_base_of_the_same_name_is_imported_under_another_one() -> None:
    source = distinct(STATUS)

    assert "from clientgo.typed.client import TypedClient\n" in source
    assert "from clientgo.typed.client import StatusClient as BaseStatusClient\n" in source
    assert "class StatusClient(BaseStatusClient[Status]):" in source
    assert "def statuses(self) -> StatusClient:\n        return StatusClient(self._requester)" in source
    assert list(faults({"made.py": source})) == []


def test_import_that_nothing_uses_is_dropped() -> None:
    source = distinct("from clientgo.typed.scale import ScaleClient\n\n\nclass ScaleClient(Base[Scale]):\n    pass\n")
    assert ast.unparse(ast.parse(source)) == "class ScaleClient(Base[Scale]):\n    pass"


@pytest.mark.parametrize("source", ["from clientgo.a import B\n\n\nclass C(B[int]):\n    pass\n", "class A(\n"])
def test_module_without_a_collision_is_unchanged(source: str) -> None:
    assert distinct(source) == source
