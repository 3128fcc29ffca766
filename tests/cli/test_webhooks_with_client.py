"""Webhooks of a scaffolded project that read the cluster, in the project's own tests."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.projects import FOO, clientgo, foo_project, run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

VALIDATOR = "webhooks/v1alpha1/foo_validator.py"
TEST = ("python", "-m", "pytest", "tests/test_foo_v1alpha1_validator.py")
READ = '''\
    def __init__(self, client: Client) -> None:
        self.reader = client.api_reader

    def validate_create(self, obj: Foo, request: AdmissionRequest, /) -> Warnings:
        """Validate a creation."""
        return self.reader.get(Namespace, ObjectName("", obj.metadata.namespace)).metadata.finalizers
'''
IMPORTS = """\
from clientgo.kubernetes.types.core_v1 import Namespace
from clientgo.manager import Client
from clientgo.meta import ObjectName
"""


def replace_in(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Project whose validator reads the namespace of each Foo."""
    folder = foo_project(tmp_path / "foo")
    assert clientgo(folder, "create", "webhook", *FOO, "--programmatic-validation") == 0
    replace_in(folder / "webhooks/server.py", "FooValidator()", "FooValidator(client)")
    text = (folder / VALIDATOR).read_text(encoding="utf-8")
    create = text[text.index("    def validate_create") : text.index("    def validate_update")]
    replace_in(folder / VALIDATOR, create, f"{READ}\n")
    replace_in(
        folder / VALIDATOR, "from clientgo.meta.declarations import", f"{IMPORTS}from clientgo.meta.declarations import"
    )
    return folder


def test_webhook_reads_the_cluster_as_the_manager(project: Path, variables: Mapping[str, str]) -> None:
    rule = '@rbac(groups="core", resources="namespaces", verbs="get")'
    run(project, variables, "make", "manifests")
    done = subprocess.run(TEST, cwd=project, env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert rule in done.stdout

    replace_in(project / VALIDATOR, "import admission_webhook", "import admission_webhook, rbac")
    replace_in(project / VALIDATOR, "class FooValidator", f"{rule}\nclass FooValidator")
    run(project, variables, "make", "manifests")
    assert "1 passed" in run(project, variables, *TEST)
