"""What the doctor finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine, lock_holders
from commonplace.memory import Memory
from commonplace.storage import error_log
from tests.support.clocks import SkippingClock


@pytest.fixture(autouse=True)
def no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".log"))


def test_a_good_vault_has_only_good_findings(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("likes tea")
        assert [finding for finding in examine(memory) if not finding.good] == []


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="no /proc/locks; to run it: use Linux")
def test_the_process_that_holds_the_lock_is_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as holder, Memory.open(tmp_path) as memory:
        holder.store("likes tea")
        memory.count()
        lock = memory.state / "lock"
        assert lock_holders(lock) == []
        with holder.library.vault.lock():
            assert lock_holders(lock) == [os.getpid()]
            [found] = [finding for finding in examine(memory) if finding.what == "lock"]
        assert (found.good, str(os.getpid()) in found.says) == (False, True)


def test_what_went_wrong_in_hooks_is_shown_for_a_week(tmp_path: Path) -> None:
    clock = SkippingClock()
    then = clock.stamp()
    error_log.note("hook stop: Busy", at=then)
    with Memory.open(tmp_path, clock=clock) as memory:
        said = {(finding.good, finding.says) for finding in examine(memory)}
        assert (False, f"{then} hook stop: Busy") in said
        assert (False, "1 went wrong in the last 7 days") in said
        clock.sleep(8 * 86_400)
        found = [finding for finding in examine(memory) if finding.what.startswith("hook")]
        assert [(each.good, each.says) for each in found] == [(True, "none went wrong lately")]


STRANGE = {
    "what?.md": "'what?.md' holds '?'",
    "a:b/plan.md": "'a:b' holds ':'",
    "Notes.MD": "it must end in .md",
    "1/2/3/4/5/6/7/8/deep.md": "it is over 8 names deep",
    "x" * 240 + ".md": f"'{'x' * 240}.md' is over 240 bytes long",
}


def test_markdown_that_is_no_document_is_named_with_why(tmp_path: Path) -> None:
    fine = ("node_modules/read?me.md", ".git/a*b.md", "plan?.txt", "fine.md")
    for name in (*STRANGE, *fine):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(0o600)
    with Memory.open(tmp_path, "native") as memory:
        found = {finding.says for finding in examine(memory) if finding.what == "name"}
    assert found == {f"{name} is no document: {why}" for name, why in STRANGE.items()}


def test_markdown_beside_the_directories_of_a_layout_is_somebody_elses(tmp_path: Path) -> None:
    for name in ("docs/what?.md", "why?.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(0o600)
    with Memory.open(tmp_path, "earl") as memory:
        [found] = [finding.says for finding in examine(memory) if finding.what == "name"]
    assert found.startswith("why?.md is no document")


def test_of_many_strange_names_some_are_listed(tmp_path: Path) -> None:
    for number in range(25):
        (tmp_path / f"what?{number}.md").touch(0o600)
    with Memory.open(tmp_path, "native") as memory:
        found = [finding.says for finding in examine(memory) if finding.what == "name"]
    assert (len(found), found[-1]) == (21, "… and 5 more")
