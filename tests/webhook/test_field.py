"""Errors of fields with Kubernetes' messages."""

import pytest

from clientgo.webhook import field
from clientgo.webhook.field import Error, Errors, Path

SPEC = Path("spec")


def test_path_reads_as_kubernetes_writes_it() -> None:
    assert str(SPEC / "ports" / 0 / "name") == "spec.ports[0].name"
    assert str((Path("metadata") / "labels").key("a/b")) == "metadata.labels[a/b]"
    assert str(Path() / "spec") == "spec"


@pytest.mark.parametrize(
    ("problem", "reason", "message"),
    [
        (field.invalid("f", "x", "is odd"), "FieldValueInvalid", 'Invalid value: "x": is odd'),
        (field.invalid("f", 0, "is odd"), "FieldValueInvalid", "Invalid value: 0: is odd"),
        (field.invalid("f", True, ""), "FieldValueInvalid", "Invalid value: true"),
        (field.invalid("f", None, ""), "FieldValueInvalid", "Invalid value: null"),
        (field.invalid("f", {"a": 1}, "is odd"), "FieldValueInvalid", 'Invalid value: {"a":1}: is odd'),
        (field.invalid("f", 'a"é\n', ""), "FieldValueInvalid", 'Invalid value: "a\\"é\\n"'),
        (field.type_invalid("f", 1, "no text"), "FieldValueTypeInvalid", "Invalid value: 1: no text"),
        (field.required("f"), "FieldValueRequired", "Required value"),
        (field.required("f", "give one"), "FieldValueRequired", "Required value: give one"),
        (field.forbidden("f", "may not"), "FieldValueForbidden", "Forbidden: may not"),
        (field.not_found("f", "x"), "FieldValueNotFound", 'Not found: "x"'),
        (field.duplicate("f", "x"), "FieldValueDuplicate", 'Duplicate value: "x"'),
        (
            field.not_supported("f", "x", ["a", "b"]),
            "FieldValueNotSupported",
            'Unsupported value: "x": supported values: "a", "b"',
        ),
        (field.too_long("f", 1), "FieldValueTooLong", "Too long: may not be more than 1 byte"),
        (field.too_many("f", 3, 2), "FieldValueTooMany", "Too many: 3: must have at most 2 items"),
        (field.internal_error("f", OSError("gone")), "InternalError", "Internal error: gone"),
    ],
)
def test_each_problem_has_kubernetes_reason_and_message(problem: Error, reason: str, message: str) -> None:
    assert (problem.reason, problem.message, str(problem)) == (reason, message, f"f: {message}")
    assert (problem.cause.reason, problem.cause.message, problem.cause.field) == (reason, message, "f")


def test_several_problems_are_one_sentence_that_has_each_once() -> None:
    first, two = field.required(SPEC / "a"), field.required(SPEC / "b")
    assert str(Errors([first])) == "spec.a: Required value"
    assert str(Errors([first, two, first])) == "[spec.a: Required value, spec.b: Required value]"
    assert Errors([first, two, first]).problems == (first, two, first)


def test_no_problems_raise_nothing() -> None:
    field.raise_if_any([])
    with pytest.raises(Errors):
        field.raise_if_any([field.required("a")])
    with pytest.raises(ValueError, match="at least one problem"):
        Errors([])
