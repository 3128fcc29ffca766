"""Text of explanations."""

from pathlib import Path

import pytest

from clientgo.explain import explain
from clientgo.kubernetes.types.apiextensions_v1 import JSONSchemaProps
from clientgo.kubernetes.types.core_v1 import PodSpec
from clientgo.meta.schema.descriptions import descriptions_of
from tests.explain.explaining import Library, LibrarySpec

Capture = pytest.CaptureFixture[str]


SPEC = """\
GROUP:      towns.example.com
KIND:       Library
VERSION:    v1

FIELD: spec <LibrarySpec> -required-

DESCRIPTION:
    Desired state of a library.

FIELDS:
  city\t<string> -required-
    City in which it stands.

  size\t<string>
  enum: Small, Large
  default: Small
    <no description>

  opening\t<string>
  enum: Daily, Weekly
  default: Daily
    <no description>

  shelves\t<[]Shelf>
    Shelves from left to right.

  rooms\t<map[string]Shelf>
    A shelf with books.

  open\t<boolean>
  default: true
    <no description>

  mostLoans\t<integer>
  default: 3
    <no description>

  port\t<IntOrString>
    <no description>

"""


def test_field_is_explained_with_the_fields_below_it_as_kubectl_does(capsys: Capture) -> None:
    explain(Library, "spec")
    assert capsys.readouterr().out.partition("  template\t<PodTemplateSpec>\n")[0] == SPEC


def test_built_in_type_of_an_own_kind_is_described_by_the_installed_package(capsys: Capture) -> None:
    explain(Library, "spec.template.spec.hostname")
    text = descriptions_of("io.k8s.api.core.v1.PodSpec").fields["hostname"]
    assert " ".join(capsys.readouterr().out.split()).endswith(f"DESCRIPTION: {text}")


def test_description_of_a_built_in_field_is_that_of_the_installed_package(capsys: Capture) -> None:
    explain("deployment.spec.replicas")
    text = descriptions_of("io.k8s.api.apps.v1.DeploymentSpec").fields["replicas"]
    assert " ".join(capsys.readouterr().out.split()).endswith(f"DESCRIPTION: {text}")


def test_description_of_a_list_is_followed_by_that_of_its_items(capsys: Capture) -> None:
    explain(Library, "spec.shelves")
    output = capsys.readouterr().out
    assert "FIELD: shelves <[]Shelf>\n" in output
    assert "DESCRIPTION:\n    Shelves from left to right.\n    A shelf with books.\n" in output
    assert "  height\t<number> -required-\n" in output


def test_values_and_default_of_a_field_are_listed(capsys: Capture) -> None:
    explain(LibrarySpec, "size")
    lines = ["TYPE:       LibrarySpec", "", "FIELD: size <string>", "", "ENUM:", "    Small", "    Large", ""]
    lines += ["DEFAULT:", "    Small", "", "DESCRIPTION:", "    <empty>", ""]
    assert capsys.readouterr().out == "\n".join(lines)


def test_field_is_found_by_the_name_of_its_attribute(capsys: Capture) -> None:
    explain(PodSpec, "termination_grace_period_seconds")
    assert "FIELD: terminationGracePeriodSeconds <integer>\n" in capsys.readouterr().out


def test_recursive_explanation_has_the_names_of_all_fields_below(capsys: Capture) -> None:
    explain("deployment.spec.strategy", recursive=True)
    tree = (
        "  rollingUpdate\t<RollingUpdateDeployment>\n    maxSurge\t<IntOrString>\n    maxUnavailable\t<IntOrString>\n"
    )
    assert f"\nFIELDS:\n{tree}  type\t<string>\n" in capsys.readouterr().out


def test_recursive_type_ends_at_its_second_level(capsys: Capture) -> None:
    explain(JSONSchemaProps, recursive=True)
    lines = capsys.readouterr().out.splitlines()
    assert "  not\t<JSONSchemaProps>" in lines
    assert "    not\t<JSONSchemaProps>" not in lines


def test_lines_are_at_most_80_columns_long_except_for_addresses(capsys: Capture) -> None:
    explain("pod.spec.containers")
    lines = [line.expandtabs() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if len(line) > 80 and len(line.split()) > 1] == []


def test_field_of_a_crd_is_explained_from_its_schema(capsys: Capture, crd_file: Path) -> None:
    explain("library.spec", crds=[crd_file])
    output = capsys.readouterr().out
    assert "  books\t<[]Object> -required-\n    All books.\n" in output
    assert "  labels\t<map[string]integer>\n    <no description>\n" in output
    assert "  port\t<IntOrString>\n  default: 80\n" in output
    assert "  lang\t<string>\n  enum: de, en\n    Language in v2.\n" in output


def test_metadata_of_a_crd_has_the_fields_of_object_meta(capsys: Capture, crd_file: Path) -> None:
    explain("library.metadata", crds=[crd_file])
    assert "  labels\t<map[string]string>\n" in capsys.readouterr().out
