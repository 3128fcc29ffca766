"""Projects in examples/, and copies of them to run."""

import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from tests.cli.projects import ROOT, clientgo, kind, run


@dataclass(frozen=True)
class Example:
    """Commands that scaffold a project, the files edited or added afterwards, and the generators it runs."""

    folder: str
    commands: Sequence[Sequence[str]]
    edited: Set[str]
    generates: tuple[str, ...] = ("manifests",)
    added: Set[str] = frozenset()
    complete: bool = False
    """True if examples/ holds every file of the project, false if only those edited and added."""


HOME = Example(
    "home",
    [
        ("init", "--project-name", "home"),
        ("create", "api", *kind("ajd", "v1", "Home"), "--resource", "--controller"),
        ("create", "webhook", *kind("ajd", "v1", "Home"), "--defaulting", "--programmatic-validation"),
    ],
    {
        "api/v1/home_types.py",
        "config/samples/ajd_v1_home.yaml",
        "controllers/home_controller.py",
        "tests/test_home_v1_defaulter.py",
        "tests/test_home_v1_validator.py",
        "webhooks/v1/home_defaulter.py",
        "webhooks/v1/home_validator.py",
    },
    complete=True,
)


REDIS = Example(
    "rediscluster",
    [
        ("init", "--domain", "example.com", "--project-name", "redis"),
        ("create", "api", *kind("cache", "v1alpha1", "RedisCluster"), "--resource", "--controller=false"),
        ("create", "api", *kind("cache", "v1", "RedisCluster"), "--resource", "--controller"),
        ("create", "webhook", *kind("cache", "v1", "RedisCluster"), "--conversion", "--spoke", "v1alpha1"),
    ],
    {
        "api/v1/rediscluster_types.py",
        "api/v1alpha1/rediscluster_types.py",
        "config/samples/cache_v1_rediscluster.yaml",
        "config/samples/cache_v1alpha1_rediscluster.yaml",
        "controllers/rediscluster_controller.py",
        "tests/test_rediscluster_controller.py",
        "tests/test_rediscluster_v1alpha1_conversion.py",
        "webhooks/v1alpha1/rediscluster_conversion.py",
    },
    added={"controllers/rediscluster_parts.py", "tests/test_rediscluster_parts.py"},
)


def scaffold(example: Example, folder: Path) -> Path:
    """Run the example's commands in a new folder."""
    folder.mkdir()
    for command in example.commands:
        assert clientgo(folder, *command) == 0
    return folder


def copy_files(folder: str, to: Path) -> Path:
    """Copy a folder of examples/, without caches."""
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "dist", ".kubeconfig")
    return Path(shutil.copytree(ROOT / "examples" / folder, to, ignore=ignored, dirs_exist_ok=True))


def copy_project(example: Example, tmp_path: Path, variables: Mapping[str, str]) -> Path:
    """Return a copy of the whole project, as its author's version control would hold it."""
    project = tmp_path / "project"
    if not example.complete:
        scaffold(example, project)
    copy_files(example.folder, project)
    for command in () if example.complete else example.generates:
        run(project, variables, "python", "-m", "clientgo.cli", command)
    return project
