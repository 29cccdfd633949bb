"""Known vulnerabilities of what the tests install and the page is built from.

`python -m tests.laws.audit` prints them, or why no database could be asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 25
PIP = (
    *(sys.executable, "-m", "pip_audit", "-r", str(ROOT / "tests/requirements.txt")),
    *("--disable-pip", "--no-deps", "--timeout", "5", "--progress-spinner", "off", "-f", "json"),
)
NPM = ("npm", "audit", "--package-lock-only", "--json")


@dataclass(frozen=True)
class Audit:
    """What an audit found; `why_not` says why there was none."""

    found: tuple[str, ...] = ()
    why_not: str = ""


def of_python() -> Audit:
    report = _report(PIP, where=ROOT)
    return report if isinstance(report, Audit) else python_audit(report)


def of_page() -> Audit:
    report = _report(NPM, where=ROOT / "web")
    return report if isinstance(report, Audit) else page_audit(report)


def _report(command: tuple[str, ...], *, where: Path) -> dict[str, Any] | Audit:
    try:
        done = subprocess.run(
            command, cwd=where, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        report = json.loads(done.stdout)
    except FileNotFoundError:
        return Audit(why_not=f"there is no {command[0]} here")
    except subprocess.TimeoutExpired:
        return Audit(why_not=f"the database did not answer within {SECONDS} s")
    except ValueError:
        return Audit(why_not=(done.stderr.strip() or "it reported nothing").splitlines()[-1])
    return report if isinstance(report, dict) else Audit(why_not="its report is of another form")


def python_audit(report: dict[str, Any]) -> Audit:
    """What pip-audit reports. A package it did not find in the database was not looked at."""
    packages = report["dependencies"]
    left_out = [package["skip_reason"] for package in packages if "skip_reason" in package]
    if left_out and len(left_out) == len(packages):
        return Audit(why_not=f"none of {len(packages)} packages could be looked up: {left_out[0]}")
    return Audit(
        tuple(
            f"{package['name']} {package['version']}: {each['id']}, {_mended(each)}"
            for package in packages
            for each in package.get("vulns", ())
        )
    )


def _mended(vulnerability: dict[str, Any]) -> str:
    versions = ", ".join(vulnerability["fix_versions"])
    return f"mended in {versions}" if versions else "not mended yet"


def page_audit(report: dict[str, Any]) -> Audit:
    """What `npm audit` reports; an answer without a list is a refusal."""
    if "vulnerabilities" not in report:
        return Audit(why_not=str(report.get("message", "npm gave no list")))
    return Audit(
        tuple(
            f"{name} {each['range']}: {each['severity']}, "
            + ("mended in a newer one" if each["fixAvailable"] else "not mended yet")
            for name, each in report["vulnerabilities"].items()
        )
    )


def main() -> int:
    audits = {"Python": of_python(), "the page": of_page()}
    for name, audit in audits.items():
        said = "; ".join(audit.found) or audit.why_not or "no known vulnerability"
        print(f"{name}: {'not audited, ' if audit.why_not else ''}{said}")
    return int(any(audit.found for audit in audits.values()))


if __name__ == "__main__":
    sys.exit(main())
