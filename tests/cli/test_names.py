"""Validation of names, and validity of the Kubernetes names derived from them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clientgo.cli.templates
from clientgo.cli.names import (
    IMPORTED,
    PROJECT_LENGTH,
    CommandError,
    domain,
    group,
    kind,
    plural,
    project_name,
    proposed,
    version,
)

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@pytest.mark.feature("A-61")
@pytest.mark.parametrize(
    ("check", "name"),
    [
        (project_name, "foo"),
        (project_name, "0-foo"),
        (domain, "c9g.io"),
        (domain, "my.domain"),
        (group, "samplecontroller"),
        (group, "a.b-c"),
        (version, "v1"),
        (version, "v2beta13"),
        (kind, "IPPool"),
        (plural, "redis-clusters"),
    ],
)
def test_valid_name_is_returned_unchanged(check: Callable[[str], str], name: str) -> None:
    assert check(name) == name


@pytest.mark.feature("A-61")
@pytest.mark.parametrize(
    ("check", "name", "expected"),
    [
        (project_name, "Foo", "lower case"),
        (project_name, "-foo", "beginning and ending with a letter or digit"),
        (project_name, "f" * (PROJECT_LENGTH + 1), "too long"),
        (project_name, "foo\n", "invalid project name"),
        (domain, "c9g..io", "such as example.com"),
        (domain, "", "such as example.com"),
        (group, "", "group cannot be empty"),
        (group, "Foo", "invalid group"),
        (version, "", "version cannot be empty"),
        (version, "1", "such as v1"),
        (version, "v0", "such as v1"),
        (version, "v1.2", "such as v1"),
        (kind, "", "kind cannot be empty"),
        (kind, "foo", "a capital letter, then"),
        (kind, "Foo-Bar", "letters and digits"),
        (kind, "None", "a Python keyword"),
        (kind, "Condition", "import a class of that name"),
        (plural, "9foos", "beginning with a letter"),
    ],
)
def test_invalid_name_is_rejected_in_one_line(check: Callable[[str], str], name: str, expected: str) -> None:
    with pytest.raises(CommandError, match=re.escape(expected)) as refused:
        check(name)
    assert "\n" not in str(refused.value)


@given(st.from_regex(r"[a-z0-9-]{1,40}", fullmatch=True))
def test_longest_derived_name_is_a_valid_dns_label(name: str) -> None:
    try:
        project_name(name)
    except CommandError:
        return
    assert LABEL.fullmatch(f"{name}-controller-manager-metrics-service")


@given(st.text())
def test_proposed_project_name_is_valid_or_empty(folder: str) -> None:
    name = proposed(folder)

    assert name == "" or project_name(name) == name


IMPORT = re.compile(r"^(?:from [\w.]+ )?import (\([^)]*\)|[^\n]+)", re.MULTILINE)


def test_kind_cannot_have_the_name_of_a_class_that_its_files_import() -> None:
    [folder] = clientgo.cli.templates.__path__
    texts = [path.read_text() for path in Path(folder).glob("*.tmpl")]
    lines = [
        line[1]
        for text in texts
        if "class {{kind}}" in text or "import {{kind}}" in text
        for line in IMPORT.finditer(text)
    ]
    classes = {name for line in lines for name in re.findall(r"\b[A-Z][a-z]\w*|\b[A-Z]{2,}[a-z]\w*", line)}
    assert "Reconciler" in classes
    assert classes <= IMPORTED
