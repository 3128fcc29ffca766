"""Source of the client methods declared with `@client_method`."""

from collections.abc import Mapping
from typing import NamedTuple

from clientgo.codegen.model import Kind, Method
from clientgo.codegen.render.source import call, docstring, quoted


class _Form(NamedTuple):
    """Form of a verb's method, with the names of the classes `{sent}` and `{got}`."""

    doc: str
    called: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    result_type: str = "{got}"


_OPTIONS = ("dry_run: bool = False",)
_MANAGED = ("*", 'field_manager: str = ""', *_OPTIONS)
_PASSED = ("field_manager=field_manager", "dry_run=dry_run")
_PATCH = "patch: Mapping[str, Any] | Sequence[Mapping[str, Any]] | bytes"
_LISTED = ("options: ListOptions | None = None",)
_FORMS: Mapping[str, _Form] = {
    "get": _Form("Get the {got}", "_get_from", (), ("{got}",)),
    "list": _Form("List the {got} objects", "_list_at", _LISTED, ("{got}", "options"), "ObjectList[{got}]"),
    "watch": _Form("Watch the {got} objects", "_watch_at", _LISTED, ("{got}", "options"), "ObjectWatch[{got}]"),
    "create": _Form("Create the {sent}", "_send_to", ("body: {sent}", *_MANAGED), ("body", "{got}", *_PASSED)),
    "update": _Form("Replace the {sent}", "_send_to", ("body: {sent}", *_MANAGED), ("body", "{got}", *_PASSED)),
    "patch": _Form(
        "Patch the {got}", "_patch_at", (_PATCH, "*", "content_type: str = MERGE_PATCH", *_MANAGED[1:]),
        ("patch", "{got}", "content_type=content_type", *_PASSED),
    ),
    "apply": _Form(
        "Server-side apply of the {sent}", "_apply_to",
        ("config: {sent} | Mapping[str, Any]", "*", "field_manager: str", *_OPTIONS, "force: bool = False"),
        ("config", "{sent}", "{got}", *_PASSED, "force=force"),
    ),
    "delete": _Form("Delete the object", "_delete_at", (), (), "None"),
}  # fmt: skip


def method_text(method: Method) -> str:
    """Return the source of a method."""
    form = _FORMS[method.verb]
    sent, got = (body.partition(":")[2] for body in (method.input, method.result))

    def named(*texts: str) -> list[str]:
        return [text.format(sent=sent, got=got) for text in texts]

    first = [quoted(method.verb)] if form.called == "_send_to" else []
    head = f"{'' if method.verb == 'delete' else 'return '}self.{form.called}"
    return "\n".join([
        call(f"def {method.name}", ["self", "name: str", *named(*form.parameters)], indent="    ",
             end=f" -> {named(form.result_type)[0]}:"),
        docstring(f"{named(form.doc)[0]} at the subresource {method.subresource} of an object.", indent=" " * 8),
        call(head, [*first, "name", quoted(method.subresource), *named(*form.arguments)], indent=" " * 8),
    ])  # fmt: skip


def bodies_of(kind: Kind) -> set[str]:
    """Return the classes of requests and responses of a kind's methods, besides its own, as `module:class`."""
    bodies: set[str] = set()
    for method in kind.methods:
        form = " ".join((*_FORMS[method.verb].parameters, *_FORMS[method.verb].arguments))
        bodies.update(body for word, body in (("{sent}", method.input), ("{got}", method.result)) if word in form)
    return bodies - {f"{kind.module}:{kind.class_name}"}
