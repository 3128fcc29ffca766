"""Annotations of imported classes as text again, for generated classes that are made after them."""

import dataclasses
import enum
import types
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from clientgo.codegen.members import members, unwrap
from clientgo.codegen.source import quoted
from clientgo.codegen.structs import Attribute, StructType
from clientgo.meta.objects import ManagedFieldsEntry, MicroTime, ObjectMeta, OwnerReference

_PLAIN: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool", bytes: "bytes"}
_BUILT_IN = "clientgo.kubernetes.types."
_RUNTIME = (ObjectMeta, OwnerReference, ManagedFieldsEntry, MicroTime)


class ClassReader:
    """Records of classes and of all they mention; remembers what has to be imported for their texts."""

    def __init__(self) -> None:
        self.classes: dict[str, type[Any]] = {}
        """Every class that was met, by the name it has in texts."""
        self.records: dict[str, StructType] = {}
        self.imports: dict[str, set[str]] = {}

    def read(self, cls: type[Any]) -> str:
        """Make the record of a class and of those it mentions; returns the name it has in texts."""
        name = self._name(cls)
        if name in self.classes:
            return name
        self.classes[name] = cls
        attributes = tuple(
            Attribute(
                name=member.name,
                json_name=member.json_name,
                type=self.text(member.hint),
                default="" if member.required else "None",
            )
            for member in members(cls)
        )
        self.records[name] = StructType(name=name, doc="", attributes=attributes)
        return name

    def _name(self, cls: type[Any]) -> str:
        if self.classes.get(cls.__name__, cls) is cls:
            return cls.__name__
        # Two classes of one name, in one group: the other says where it comes from.
        module = cls.__module__.rpartition(".")[2]
        return "".join(part[:1].upper() + part[1:] for part in module.split("_")) + cls.__name__

    def text(self, hint: Any) -> str:
        """An annotation as text; constraints are left out."""
        bare, _, nullable = unwrap(hint)
        text = self._bare(bare)
        return f"{text} | None" if nullable and text != "Any" else text

    def _bare(self, hint: Any) -> str:
        origin, args = get_origin(hint), get_args(hint)
        if hint in _PLAIN:
            return _PLAIN[hint]
        if hint is datetime:
            return self._imported("datetime", "datetime")
        if origin is Literal:
            values = (quoted(value) if isinstance(value, str) else repr(value) for value in args)
            return f"{self._imported('typing', 'Literal')}[{', '.join(values)}]"
        if origin in (Union, types.UnionType):
            return " | ".join(self.text(arg) for arg in args)
        if origin in (tuple, list):
            return f"tuple[{self.text(args[0])}, ...]"
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return f"{self._imported('collections.abc', 'Mapping')}[str, {self.text(args[1])}]"
        return self._class(hint)

    def _class(self, hint: Any) -> str:
        if not isinstance(hint, type):
            return self._imported("typing", "Any")
        if hint in _RUNTIME:
            return hint.__name__ if hint is ObjectMeta else self._imported(hint.__module__, hint.__name__)
        if issubclass(hint, enum.Enum):
            return self._imported(hint.__module__, hint.__name__)
        if hint.__module__.startswith(_BUILT_IN):
            module = hint.__module__.replace(".types.", ".applyconfigurations.")
            return self._imported(module, f"{hint.__name__}ApplyConfiguration")
        if dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct):
            return self.read(hint)
        return self._imported("typing", "Any")

    def _imported(self, module: str, name: str) -> str:
        self.imports.setdefault(module, set()).add(name)
        return name
