"""Known vulnerabilities in what is locked: python -m hack.audit hack/requirements.lock

pip-audit looks the locked versions up. Where its service can't be reached, or is a mirror that holds packages and no
advisories, it finds nothing to say and calls that "no known vulnerabilities". Here each service is asked in turn until
one knows the packages; when none does, that is said in so many words, and with --strict it is a failure.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ACCEPTED: Mapping[str, str] = {}
"""Vulnerabilities that do not reach us: their id, and why they don't."""

SERVICES = ("pypi", "osv")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run of pip-audit printed; `out` is empty if it broke off."""

    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What a service knew: the packages it looked up, those it doesn't have, and a line for each vulnerability."""

    audited: tuple[str, ...]
    unknown: tuple[str, ...]
    vulnerable: tuple[str, ...]


Ask = Callable[[str, str], Answer]


def pip_audit(service: str, lock: str) -> Answer:
    """Ask one service about the locked versions as they stand: nothing is resolved and nothing installed."""
    options = ["--disable-pip", "--require-hashes", "--format=json", "--progress-spinner=off", "--timeout=10"]
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "-s", service, "-r", lock, *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return Answer(done.stdout, done.stderr)


def read(answer: Answer) -> Findings | str:
    """The findings, or in one line why there are none."""
    try:
        packages: list[dict[str, Any]] = json.loads(answer.out)["dependencies"]
    except (ValueError, KeyError):
        return (answer.err.strip().splitlines() or ["it said nothing"])[-1]
    found = [(package, vuln) for package in packages for vuln in package.get("vulns", ())]
    return Findings(
        audited=tuple(package["name"] for package in packages if "skip_reason" not in package),
        unknown=tuple(package["name"] for package in packages if "skip_reason" in package),
        vulnerable=tuple(
            f"{package['name']} {package['version']}: {vuln['id']}"
            f" (mended in {', '.join(vuln['fix_versions']) or 'no release'})"
            for package, vuln in found
            if not ACCEPTED.keys() & {vuln["id"], *vuln.get("aliases", ())}
        ),
    )


def audit(lock: str, ask: Ask = pip_audit, *, strict: bool = False, say: Callable[[str], object]) -> int:
    """Ask the services in turn; 1 if something is vulnerable or, when `strict`, if not every package was looked up."""
    silent = list[str]()
    for service in SERVICES:
        findings = read(ask(service, lock))
        if isinstance(findings, Findings) and findings.audited:
            return _judge(service, findings, strict=strict, say=say)
        silent.append(f"{service}: {findings if isinstance(findings, str) else 'it knows none of the packages'}")
    say(f"{lock}: NOT AUDITED, no vulnerability service could be asked")
    for why in silent:
        say(f"  {why}")
    return int(strict)


def _judge(service: str, findings: Findings, *, strict: bool, say: Callable[[str], object]) -> int:
    for line in findings.vulnerable:
        say(f"vulnerable: {line}")
    if findings.unknown:
        say(f"NOT AUDITED, unknown to {service}: {', '.join(findings.unknown)}")
    say(f"{service} looked up {len(findings.audited)} packages: {len(findings.vulnerable)} findings")
    return int(bool(findings.vulnerable) or (strict and bool(findings.unknown)))


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="hack.audit", description="Known vulnerabilities in what is locked.")
    parser.add_argument("lock", help="a requirements file with hashes")
    parser.add_argument("--strict", action="store_true", help="fail, too, if a package could not be looked up")
    given = parser.parse_args(arguments)
    return audit(given.lock, strict=given.strict, say=lambda line: sys.stdout.write(f"{line}\n"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
