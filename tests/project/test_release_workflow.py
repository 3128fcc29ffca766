"""Release workflow: pinned actions, least permissions, no secret, and no address of an index."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PATH = Path(__file__).parents[2] / ".github" / "workflows" / "release.yml"
TEXT = PATH.read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]


def steps() -> Iterator[dict[str, Any]]:
    for job in JOBS.values():
        yield from job["steps"]


def test_actions_are_pinned_to_a_commit_and_name_its_release() -> None:
    used = re.findall(r"uses: (\S+)(.*)", TEXT)
    assert len(used) == len([step for step in steps() if "uses" in step])
    assert [action for action, comment in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)] == []
    assert [action for action, comment in used if not re.fullmatch(r"  # v\d+\.\d+\.\d+", comment)] == []


def test_only_the_job_that_publishes_has_an_identity_and_it_runs_no_code_of_the_repository() -> None:
    assert yaml.safe_load(TEXT)["permissions"] == {}
    assert {name: job["permissions"] for name, job in JOBS.items() if name != "publish"} == {
        "check": {"contents": "read"},
        "build": {"contents": "read"},
    }
    publish = JOBS["publish"]
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert (publish["environment"], publish["needs"]) == ("release", ["check", "build"])
    assert [step for step in publish["steps"] if "run" in step or "checkout" in step["uses"]] == []


def test_provenance_is_signed_before_archives_are_published() -> None:
    actions = [step["uses"].partition("@")[0].rpartition("/")[2] for step in JOBS["publish"]["steps"]]
    assert actions == ["download-artifact", "attest-build-provenance", "gh-action-pypi-publish"]


@pytest.mark.parametrize("word", ["secrets.", "password", "https://", "repository-url"])
def test_workflow_has_no_secret_and_no_address(word: str) -> None:
    assert word not in TEXT
