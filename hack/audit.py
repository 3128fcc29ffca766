"""Audit of locked packages for known vulnerabilities: python -m hack.audit hack/requirements.lock.

pip-audit looks up the locked versions. If its service is not reachable, or is a mirror without advisories, pip-audit
reports "no known vulnerabilities". This script tries each service until one knows the packages; if none does, it prints
NOT AUDITED, and with --strict it fails.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ACCEPTED: Mapping[str, str] = {}
"""Ids of vulnerabilities that do not affect the image, with the reason."""

SERVICES = ("pypi", "osv")


@dataclass(frozen=True, slots=True)
class Answer:
    """Output of one run of pip-audit; `out` is empty if it failed."""

    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Findings:
    """Result of one service: packages looked up, unknown packages, and a line for each vulnerability."""

    audited: tuple[str, ...]
    unknown: tuple[str, ...]
    vulnerable: tuple[str, ...]


Ask = Callable[[str, str], Answer]


def pip_audit(service: str, lock: str) -> Answer:
    """Query one service for the locked versions, without resolving or installing packages."""
    options = ["--disable-pip", "--require-hashes", "--format=json", "--progress-spinner=off", "--timeout=10"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "-s", service, "-r", lock, *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Answer(done.stdout, done.stderr)


def read(response: Answer) -> Findings | str:
    """Return the findings, or the reason in one line if there are none."""
    try:
        packages: list[dict[str, Any]] = json.loads(response.out)["dependencies"]
    except (ValueError, KeyError):
        return (response.err.strip().splitlines() or ["no output"])[-1]
    matches = [(package, vuln) for package in packages for vuln in package.get("vulns", ())]
    return Findings(
        audited=tuple(package["name"] for package in packages if "skip_reason" not in package),
        unknown=tuple(package["name"] for package in packages if "skip_reason" in package),
        vulnerable=tuple(
            f"{package['name']} {package['version']}: {vuln['id']}"
            f" (fixed in {', '.join(vuln['fix_versions']) or 'no release'})"
            for package, vuln in matches
            if not ACCEPTED.keys() & {vuln["id"], *vuln.get("aliases", ())}
        ),
    )


def audit(lock: str, ask: Ask = pip_audit, *, strict: bool = False, say: Callable[[str], object]) -> int:
    """Query the services in turn; return 1 for a vulnerability or, if `strict`, for a package not looked up."""
    silent = list[str]()
    for service in SERVICES:
        findings = read(ask(service, lock))
        if isinstance(findings, Findings) and findings.audited:
            return _judge(service, findings, strict=strict, say=say)
        silent.append(f"{service}: {findings if isinstance(findings, str) else 'all packages are unknown'}")
    say(f"{lock}: NOT AUDITED, no vulnerability service is reachable")
    for reason in silent:
        say(f"  {reason}")
    return int(strict)


def _judge(service: str, findings: Findings, *, strict: bool, say: Callable[[str], object]) -> int:
    for line in findings.vulnerable:
        say(f"vulnerable: {line}")
    if findings.unknown:
        say(f"NOT AUDITED, unknown to {service}: {', '.join(findings.unknown)}")
    say(f"{service} looked up {len(findings.audited)} packages: {len(findings.vulnerable)} findings")
    return int(bool(findings.vulnerable) or (strict and bool(findings.unknown)))


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="hack.audit", description="look up known vulnerabilities of locked packages")
    parser.add_argument("lock", help="requirements file with hashes")
    parser.add_argument("--strict", action="store_true", help="also fail if a package could not be looked up")
    options = parser.parse_args(arguments)
    return audit(options.lock, strict=options.strict, say=lambda line: sys.stdout.write(f"{line}\n"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
