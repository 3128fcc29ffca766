"""Validation of names, and validity of the Kubernetes names derived from them."""

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.cli.names import (
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
