"""hack/audit.py: a vulnerability fails, and a service without data does not count as clean."""

import json
from typing import Any

import pytest

from hack import audit as tool
from hack.audit import Answer, Findings

LOCK = "requirements.lock"
FOUND = {"id": "PYSEC-2026-1", "fix_versions": ["2.0"], "aliases": ["CVE-2026-1"]}
CLEAN = {"name": "fine", "version": "1.0", "vulns": []}
VULNERABLE = {"name": "holey", "version": "1.0", "vulns": [FOUND]}
UNKNOWN = {"name": "unheard", "skip_reason": "Dependency not found on PyPI and could not be audited: unheard (1.0)"}
BROKEN = Answer("", "Traceback (most recent call last):\n  ...\nConnectionError: no route to host\n")


def answer(*packages: dict[str, Any]) -> Answer:
    return Answer(json.dumps({"dependencies": packages, "fixes": []}), "No known vulnerabilities found\n")


def audited(*answers: Answer, strict: bool = False) -> tuple[int, list[str], list[str]]:
    """Return the exit code, the output, and the services queried, for given answers."""
    printed, requested = list[str](), list[str]()

    def ask(service: str, lock: str) -> Answer:
        assert lock == LOCK
        requested.append(service)
        return answers[len(requested) - 1]

    return tool.audit(LOCK, ask, strict=strict, say=printed.append), printed, requested


def test_clean_packages_pass() -> None:
    assert audited(answer(CLEAN)) == (0, ["pypi looked up 1 packages: 0 findings"], ["pypi"])


def test_vulnerability_fails_and_names_its_remedy() -> None:
    code, printed, _ = audited(answer(CLEAN, VULNERABLE))
    assert code == 1
    assert printed[0] == "vulnerable: holey 1.0: PYSEC-2026-1 (fixed in 2.0)"


def test_second_service_is_queried_if_the_first_has_no_data() -> None:
    """A mirror with packages but without advisories; pip-audit itself reports that as clean."""
    code, printed, requested = audited(answer(UNKNOWN), answer(VULNERABLE))
    assert (code, requested) == (1, ["pypi", "osv"])
    assert printed[-1] == "osv looked up 1 packages: 1 findings"


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_unreachable_services_are_reported_and_fail_if_strict(code: int, *, strict: bool) -> None:
    assert audited(answer(UNKNOWN), BROKEN, strict=strict)[:2] == (
        code,
        [
            "requirements.lock: NOT AUDITED, no vulnerability service is reachable",
            "  pypi: all packages are unknown",
            "  osv: ConnectionError: no route to host",
        ],
    )


@pytest.mark.parametrize(("strict", "code"), [(False, 0), (True, 1)])
def test_package_that_could_not_be_looked_up_is_named(code: int, *, strict: bool) -> None:
    result, printed, _ = audited(answer(CLEAN, UNKNOWN), strict=strict)
    assert (result, printed[0]) == (code, "NOT AUDITED, unknown to pypi: unheard")


def test_accepted_vulnerabilities_each_have_a_reason() -> None:
    assert all(len(reason.split()) > 3 for reason in tool.ACCEPTED.values())


def test_tool_that_ends_without_a_word_is_no_finding() -> None:
    assert tool.read(Answer("", "")) == "no output"
    assert tool.read(answer()) == Findings((), (), ())
