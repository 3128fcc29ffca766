"""Scaffolds of every pair of choices: generated, linted, typed and tested as their author would."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, product
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import pytest
import yaml

from tests.cli.projects import clientgo, kind, lint, new_project, run
from tests.codegen.generating import CREDENTIALS

VERSIONS = ("v1alpha1", "v1beta1", "v1")
WEBHOOKS = {
    "none": (),
    "defaulting": ("--defaulting",),
    "validation": ("--programmatic-validation",),
    "both": ("--defaulting", "--programmatic-validation"),
}
FOREIGN = {
    "none": (),
    "external": kind("credentials.example.net", "v1", "Credential"),
    "built-in": kind("apps", "v1", "Deployment"),
}


class Choices(NamedTuple):
    """A project: versions of each of its kinds, groups, scope, webhooks, conversion, kind of others, namespaced."""

    versions: Literal[1, 2, 3]
    groups: Literal["one", "two", "same kind"]
    scope: Literal["Namespaced", "Cluster"]
    webhooks: Literal["none", "defaulting", "validation", "both"]
    converts: Literal[0, 1]
    foreign: Literal["none", "external", "built-in"]
    namespaced: Literal[0, 1]

    @property
    def kinds(self) -> tuple[tuple[str, str], ...]:
        """Group and name of each kind that the project defines; the kind of others may have the same name."""
        if self.groups != "same kind":
            return (("samples", "Foo"), ("ship-yard", "Frigate"))[: 1 + (self.groups == "two")]
        name = {"none": "Foo", "external": "Credential", "built-in": "Deployment"}[self.foreign]
        return (("samples", name), ("ship-yard", name))

    def pairs(self) -> set[tuple[tuple[str, object], ...]]:
        """Return every pair of choices."""
        return set(combinations(self._asdict().items(), 2))


MATRIX = [
    Choices(2, "one", "Cluster", "defaulting", 1, "external", 1),
    Choices(3, "same kind", "Cluster", "both", 1, "none", 0),
    Choices(1, "one", "Namespaced", "none", 0, "none", 0),
    Choices(3, "two", "Namespaced", "validation", 0, "built-in", 1),
    Choices(1, "same kind", "Namespaced", "both", 0, "external", 1),
    Choices(2, "two", "Cluster", "none", 1, "built-in", 0),
    Choices(1, "two", "Cluster", "defaulting", 0, "none", 0),
    Choices(2, "same kind", "Namespaced", "validation", 1, "none", 0),
    Choices(3, "one", "Cluster", "validation", 0, "external", 0),
    Choices(1, "same kind", "Namespaced", "defaulting", 0, "built-in", 0),
    Choices(2, "one", "Namespaced", "both", 0, "built-in", 0),
    Choices(3, "two", "Namespaced", "none", 0, "external", 1),
    Choices(1, "one", "Namespaced", "validation", 0, "none", 1),
    Choices(1, "two", "Namespaced", "both", 0, "none", 0),
    Choices(1, "same kind", "Namespaced", "none", 0, "none", 0),
    Choices(3, "one", "Namespaced", "defaulting", 0, "none", 0),
]
IN_EACH_RUN = 2
"""Projects that every run of the tests checks; only `make test-all` checks the others."""


def commands(choices: Choices) -> Iterator[tuple[str, ...]]:
    """Yield the commands that scaffold the project."""
    layout = ("--multigroup",) * (choices.groups != "one") + ("--namespaced",) * choices.namespaced
    yield ("init", "--domain", "example.com", "--project-name", "matrix", *layout)
    for group, name in choices.kinds:
        versions = [kind(group, each, name) for each in VERSIONS[: choices.versions]]
        scope = f"--namespaced={str(choices.scope == 'Namespaced').lower()}"
        for version in versions:
            yield ("create", "api", *version, "--resource", f"--controller={version is versions[-1]}".lower(), scope)
        for version in versions if choices.webhooks != "none" else ():
            yield ("create", "webhook", *version, *WEBHOOKS[choices.webhooks])
        if choices.converts:
            yield ("create", "webhook", *versions[-1], "--conversion")
    other = FOREIGN[choices.foreign]
    if other:
        source = ("--resource=false", "--from-crd", str(CREDENTIALS)) if choices.foreign == "external" else ()
        yield ("create", "api", *other, "--controller", *source)
        if choices.webhooks != "none":
            yield ("create", "webhook", *other, *WEBHOOKS[choices.webhooks])


def test_matrix_has_every_pair_of_choices() -> None:
    values = [get_args(hint) for hint in Choices.__annotations__.values()]
    possible = [Choices(*row) for row in product(*values)]
    required = {
        pair for choices in possible if not (choices.converts and choices.versions == 1) for pair in choices.pairs()
    }
    assert required - {pair for choices in MATRIX for pair in choices.pairs()} == set()


@pytest.mark.e2e
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "choices",
    [
        pytest.param(choices, id=f"{number}", marks=[pytest.mark.slow] if number >= IN_EACH_RUN else [])
        for number, choices in enumerate(MATRIX)
    ],
)
def test_scaffolded_project_is_generated_linted_typed_and_tested(
    tmp_path: Path, variables: Mapping[str, str], choices: Choices
) -> None:
    project = tmp_path / "matrix"
    project.mkdir()
    for command in commands(choices):
        assert clientgo(project, *command) == 0, command
    run(project, variables, "make", "manifests", "generate")

    lint(project, variables)
    run(project, variables, "ruff", "format", "--no-cache", "--check")
    results = run(project, variables, "make", "test")
    assert re.search(r"= \d+ passed(, \d+ skipped)? in", results), results
    skipped = [line for line in results.splitlines() if line.startswith("SKIPPED")]
    assert all("the operator writes nothing" in line for line in skipped), "only a new reconciler is not perturbed"
    rendered = list(yaml.safe_load_all(run(project, variables, "kubectl", "kustomize", "config/default")))
    plurals = [item["spec"]["names"]["plural"] for item in rendered if item["kind"] == "CustomResourceDefinition"]
    assert sorted(plurals) == sorted(f"{name.lower()}s" for _, name in choices.kinds)


LONG = ("ValidatingAdmissionPolicyBinding", "AutomaticVirtualDataCenterEnvironment")
LONGEST = "Abcdefghijklmnopqrstuvwxyz" * 2 + "Abcdefg"
KINDS = ("Status", "Scale", "Lister", "Object", "Typed", "Create")
"""Kinds whose clients, listers and configurations have the names of library classes."""


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("group", "kinds", "formatted"),
    [
        pytest.param("cache", ("A", "RedisCluster", *LONG), True, id="short and long"),
        pytest.param("a" * 40, (LONGEST,), False, id="longest"),
        pytest.param("a", KINDS, True, id="names of library classes"),
    ],
)
def test_project_of_any_kind_is_generated_and_passes_the_linter(
    tmp_path: Path, variables: Mapping[str, str], group: str, kinds: tuple[str, ...], formatted: bool
) -> None:
    new_project(tmp_path)
    for name in kinds:
        older, newer = (kind(group, version, name) for version in ("v1alpha1", "v1"))
        assert clientgo(tmp_path, "create", "api", *older, "--resource", "--controller=false") == 0
        assert clientgo(tmp_path, "create", "api", *newer, "--resource", "--controller") == 0
        assert clientgo(tmp_path, "create", "webhook", *newer, *WEBHOOKS["both"]) == 0
    run(tmp_path, variables, "make", "manifests", "generate")

    lint(tmp_path, variables)
    if formatted:  # no formatter breaks a name
        run(tmp_path, variables, "ruff", "format", "--no-cache", "--check")


def test_kind_whose_list_would_have_too_long_a_name_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    longer = kind("a", "v1", f"{LONGEST}h")
    assert clientgo(new_project(tmp_path), "create", "api", *longer, "--resource", "--controller") == 1
    assert "too long, expected at most 59 characters" in capsys.readouterr().err
