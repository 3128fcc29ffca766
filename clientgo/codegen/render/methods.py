"""Source of the client methods declared with `@client_method`."""

from collections.abc import Iterable, Iterator

from clientgo.codegen.model import Kind, Method
from clientgo.codegen.render.source import call, docstring_text, quoted
from clientgo.codegen.render.templatefiles import Import, fill

_ANSWERS = {"delete": "None", "list": "ObjectList[{}]", "watch": "ObjectWatch[{}]"}
_CALLED = {
    "get": "_get_from", "list": "_list_at", "watch": "_watch_at",
    "patch": "_patch_at", "apply": "_apply_to", "delete": "_delete_at",
}  # fmt: skip
_PATCH = "Mapping[str, Any] | Sequence[Mapping[str, Any]] | bytes"


def method_text(method: Method) -> str:
    """Return the source of a method."""
    sent, got = (place.partition(":")[2] for place in (method.input, method.result))
    answer = _ANSWERS.get(method.verb, "{}").format(got)
    arguments, passed = _signature(method, sent)
    return fill(
        "client_method",
        signature=call(f"def {method.name}", ["self", *arguments], indent="    ", end=f" -> {answer}:"),
        doc=docstring_text(_doc(method, sent, got)),
        body=call(_called(method), [*_positions(method, sent, got), *passed], indent="        "),
    )


def _called(method: Method) -> str:
    prefix = "" if method.verb == "delete" else "return "
    return f"{prefix}self.{_CALLED.get(method.verb, '_send_to')}"


def _signature(method: Method, sent: str) -> tuple[list[str], list[str]]:
    """Return the parameters of the method, and the arguments that it passes on."""
    options = ['field_manager: str = ""', "dry_run: bool = False"]
    passed = ["field_manager=field_manager", "dry_run=dry_run"]
    if method.verb in ("get", "delete"):
        return ["name: str"], []
    if method.verb in ("list", "watch"):
        return ["name: str", "options: ListOptions | None = None"], ["options"]
    if method.verb == "patch":
        return (
            ["name: str", f"patch: {_PATCH}", "*", "content_type: str = MERGE_PATCH", *options],
            ["content_type=content_type", *passed],
        )
    if method.verb == "apply":
        options[0] = "field_manager: str"
        arguments = ["name: str", f"config: {sent} | Mapping[str, Any]", "*", *options, "force: bool = False"]
        return arguments, [*passed, "force=force"]
    return ["name: str", f"body: {sent}", "*", *options], passed


def _positions(method: Method, sent: str, got: str) -> list[str]:
    sub = quoted(method.subresource)
    return {
        "get": ["name", sub, got],
        "list": ["name", sub, got],
        "watch": ["name", sub, got],
        "delete": ["name", sub],
        "patch": ["name", sub, "patch", got],
        "apply": ["name", sub, "config", sent, got],
    }.get(method.verb, [quoted(method.verb), "name", sub, "body", got])


def _doc(method: Method, sent: str, got: str) -> str:
    what = {
        "get": f"Get the {got}",
        "list": f"List the {got} objects",
        "watch": f"Watch the {got} objects",
        "create": f"Create a {sent}",
        "update": f"Replace the {sent}",
        "patch": f"Patch the {got}",
        "apply": f"Server-side apply of the {sent}",
        "delete": "Delete the object",
    }[method.verb]
    return f"{what} at the subresource {method.subresource} of an object."


def method_imports(kinds: Iterable[Kind]) -> Iterator[Import]:
    """Yield the imports of the methods, besides the kinds' own classes."""
    for kind in kinds:
        for method in kind.methods:
            yield "clientgo.typed.subresources", ["SubresourceClient"]
            for place in _mentioned(method):
                module, _, name = place.partition(":")
                yield module, [name]
            if method.verb == "patch":
                yield "clientgo.rest.request", ["MERGE_PATCH"]
            if method.verb in ("list", "watch"):
                yield "clientgo.meta.listwatch", ["ListOptions"]
            if method.verb == "list":
                yield "clientgo.meta.codec", ["ObjectList"]
            if method.verb == "watch":
                yield "clientgo.typed.watch", ["ObjectWatch"]


def bodies_of(kind: Kind) -> set[str]:
    """Return the classes of requests and responses of a kind's methods, besides its own."""
    found = {place for method in kind.methods for place in _mentioned(method)}
    return found - {f"{kind.module}:{kind.class_name}"}


def _mentioned(method: Method) -> tuple[str, ...]:
    return {
        "delete": (),
        **dict.fromkeys(("get", "list", "watch", "patch"), (method.result,)),
    }.get(method.verb, (method.input, method.result))


def standard_imports(kinds: Iterable[Kind]) -> str:
    """Return the imports of the methods from the standard library."""
    verbs = {method.verb for kind in kinds for method in kind.methods}
    if not verbs & {"patch", "apply"}:
        return ""
    names = "Mapping, Sequence" if "patch" in verbs else "Mapping"
    return f"from collections.abc import {names}\nfrom typing import Any\n\n"
