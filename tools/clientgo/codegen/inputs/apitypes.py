"""Reader of `@api_type` dataclasses, by importing their modules."""

import dataclasses
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from clientgo.codegen.inputs.apichecks import check_api, read_methods
from clientgo.codegen.model import Kind, Method
from clientgo.codegen.problems import Problems, place_of, shown
from clientgo.log.callers import origin_of_error
from clientgo.meta.classes.check import faults, not_a_dataclass
from clientgo.meta.scheme import ApiType, api_of


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnKind(Kind):
    """A kind with the class it was read from."""

    cls: type[Any]


def read_modules(names: Iterable[str], problems: Problems, *, all_versions: bool = True) -> list[OwnKind]:
    """Read the kinds of these modules; errors go to `problems`.

    Without `all_versions`, the stored version of a kind may be missing.
    """
    kinds = [kind for name in names for kind in _read_module(name, problems)]
    _check_together(kinds, problems, least=int(all_versions))
    return kinds


def with_storage(kinds: Iterable[OwnKind]) -> list[OwnKind]:
    """Return the kinds of CRDs; if the stored version of one is missing, another is stored in its place."""
    versions: dict[tuple[str, str], list[OwnKind]] = {}
    for each in (each for each in kinds if each.api.crd):
        versions.setdefault((each.api.group, each.api.kind), []).append(each)
    for members in versions.values():
        if not any(member.api.storage for member in members):
            members[0] = dataclasses.replace(members[0], api=msgspec.structs.replace(members[0].api, storage=True))
    return [member for members in versions.values() for member in members]


def _read_module(name: str, problems: Problems) -> Iterator[OwnKind]:
    module = imported(name, problems)
    if module is None:
        return
    source = source_of(module)
    kinds = list(_marked(module))
    if not kinds:
        problems.at_module(source, 1, "no class has @api_type(group=, version=): decorate the kinds")
    for cls in kinds:
        if check_class(cls, problems):
            methods = tuple(read_methods(cls, problems))
            yield own_kind(cls, source, methods)


def own_kind(cls: type[Any], source: str = "", methods: tuple[Method, ...] = ()) -> OwnKind:
    """Return the kind of a class."""
    module, name = cls.__module__, cls.__name__
    return OwnKind(api=api_of(cls), class_name=name, module=module, source=source, methods=methods, cls=cls)


def source_of(module: ModuleType) -> str:
    """Return the file of a module relative to the import path, the same on every machine."""
    path = module.__name__.replace(".", "/")
    return f"{path}/__init__.py" if hasattr(module, "__path__") else f"{path}.py"


def imported(name: str, problems: Problems) -> ModuleType | None:
    """Import a module; return None and report an error if that fails."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # user code: its exception is reported with its place
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            message = f"module {error.name} not found: give a dotted name that can be imported from here"
            problems.at_module(name, 0, message)
        else:
            reason = f"it exits with code {error.code}" if isinstance(error, SystemExit) else str(error)
            # The message of dataclasses for `names: list[str] = []`.
            advice = _IMMUTABLE if "mutable default" in reason else ""
            problems.at_module(*_raised_at(error, name), f"importing {name} failed: {reason}{advice}")
    return None


_IMMUTABLE = " here (write tuple[X, ...] = () or Mapping[str, X] = EMPTY_MAP, from clientgo.meta)"


def _raised_at(error: BaseException, name: str) -> tuple[str, int]:
    if isinstance(error, SyntaxError):
        return shown(error.filename or name), error.lineno or 0
    file, line = origin_of_error(error) or (name, 0)
    return shown(file), _field_line(error, file) or line


def _field_line(error: BaseException, file: str) -> int:
    """Return the line of a field with a mutable default; the error of dataclasses names only the field."""
    match = re.search(r" for field (\w+) is not allowed", str(error))
    if match is None:
        return 0
    pattern = re.compile(rf"\s+{match[1]}\s*:.*=\s*(\[|\{{|list\(|dict\(|set\()")
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    return next((number for number, line in enumerate(lines, 1) if pattern.match(line)), 0)


def _marked(module: ModuleType) -> Iterator[type[Any]]:
    for cls in vars(module).values():
        if inspect.isclass(cls) and cls.__module__ == module.__name__ and "__api_type__" in vars(cls):
            yield cls


def check_class(cls: type[Any], problems: Problems) -> bool:
    """Return whether a class can be described; errors go to `problems`."""
    for fault in faults(cls):
        if fault.field:
            problems.at_field(fault.cls, fault.field, fault.message)
        else:
            problems.at_class(fault.cls, fault.message)
    if not dataclasses.is_dataclass(cls):
        problems.at_class(cls, not_a_dataclass(cls))
        return False
    names = {field.name for field in dataclasses.fields(cls)}
    check_api(cls, problems)
    if api_of(cls).status and "status" not in names:
        problems.at_class(cls, f"{cls.__name__} has no field status: add one, or use @api_type(..., status=False)")
    return True


def _check_together(kinds: Iterable[OwnKind], problems: Problems, *, least: int) -> None:
    resources: Mapping[tuple[str, str], list[OwnKind]] = defaultdict(list)
    for kind in kinds:
        # Bodies of subresources are not stored.
        if kind.api.verbs or kind.api.crd:
            resources[kind.api.group, kind.api.plural].append(kind)
    for members in resources.values():
        _check_versions(members, problems, least)


def _check_versions(members: list[OwnKind], problems: Problems, least: int) -> None:
    first = members[0].api
    seen: dict[str, str] = {}
    for member in members:
        api = member.api
        if api.version in seen:
            other = seen[api.version]
            problems.at_class(
                member.cls, f"{api.plural}.{api.group}/{api.version} is already defined at {other}: use another plural="
            )
        seen.setdefault(api.version, ":".join(map(str, place_of(member.cls))))
        if _names(api) != _names(first):
            problems.at_class(member.cls, f"kind, singular and scope of {api.kind} must be equal in all versions")
    storage = [member for member in members if member.api.storage]
    has_crd = any(member.api.crd for member in members)
    if has_crd and not least <= len(storage) <= 1 and len(seen) == len(members):
        stored = ", ".join(member.api.version for member in storage) or "none"
        problems.at_class(
            members[-1].cls,
            f"invalid storage versions of {first.kind} ({stored}): set storage=False in all but one of the CRD",
        )


def _names(api: ApiType) -> tuple[str, str, str]:
    return api.kind, api.singular, api.scope
