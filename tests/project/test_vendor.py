"""The bundles of the page: their list is true of them, and the build gives these bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.skips import unavailable

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
MADE = ROOT / "src/commonplace/doors/http/web"
LIST = (MADE / "VENDOR.md").read_text(encoding="utf-8")
FREE = {"MIT", "BSD-2-Clause", "Apache-2.0", "(MPL-2.0 OR Apache-2.0)"}
BUNDLES = ("vendor.js", "vendor-editor.js", "vendor-chart.js", "vendor-chart.css")
MOST = 500_000
"""Bytes, packed, that all assets of the page may take together."""


def listed() -> dict[str, tuple[str, str]]:
    rows = re.findall(r"^\| (\S+) \| (\d\S*) \| ([^|]+) \| [^|]+ \|$", LIST, re.M)
    return {name: (version, licence) for name, version, licence in rows}


@pytest.mark.parametrize("name", BUNDLES)
def test_the_list_is_of_the_bundles_that_are_served(name: str) -> None:
    digest = hashlib.sha256((MADE / "assets" / name).read_bytes()).hexdigest()
    assert f"| {name} | `{digest}` |" in LIST


def test_all_assets_together_are_light() -> None:
    files = [each for each in (MADE / "assets").rglob("*") if each.is_file()]
    assert sum(len(gzip.compress(each.read_bytes(), 9)) for each in files) < MOST


def test_the_packages_of_the_list_are_those_that_are_locked() -> None:
    locked = json.loads((WEB / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    packages = listed()
    asked = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert asked.keys() <= packages.keys()
    for name, (version, licence) in packages.items():
        entry = locked[f"node_modules/{name}"]
        assert (entry["version"], entry["license"]) == (version, licence)
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


def test_every_licence_lets_the_bundle_be_shipped() -> None:
    assert {licence for _, licence in listed().values()} <= FREE


@pytest.mark.long
def test_the_build_gives_these_bytes(tmp_path: Path) -> None:
    built, out = tmp_path / "web", tmp_path / "out"
    shutil.copytree(WEB, built, ignore=shutil.ignore_patterns("node_modules"))
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(words, cwd=built, capture_output=True, text=True, check=False)
        trouble = done.stderr[-500:] if done.returncode else ""
    except FileNotFoundError:
        trouble = "there is no npm"
    if trouble:
        unavailable(f"the packages were not installed: {trouble}", get="apt-get install npm")
    subprocess.run(["node", "build.mjs", str(out)], cwd=built, check=True)
    for name in ("VENDOR.md", *(f"assets/{each}" for each in BUNDLES)):
        assert (out / name).read_bytes() == (MADE / name).read_bytes(), f"{name} is not as built"
