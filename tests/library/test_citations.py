"""What a record rests on is checked by one look and one hash, and only where that is safe."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.citations import read, written
from commonplace.model.errors import BadValue, Refused
from commonplace.model.records import Record
from commonplace.storage import outside_files, trusted

CODE = "".join(f"line {number}\n" for number in range(1, 41))


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    with Memory.open(place, create=True, origin="owner") as memory:
        yield memory


@pytest.fixture
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("code") / "app.py"
    write(path, CODE)
    return path


def write(path: Path, text: str) -> None:
    """Write a file some time ago, so that a look may trust its time."""
    path.write_text(text, encoding="utf-8")
    write.clock += 10**10  # type: ignore[attr-defined]
    os.utime(path, ns=(write.clock, write.clock))  # type: ignore[attr-defined]


write.clock = 10**18  # type: ignore[attr-defined]


def git(path: Path, *words: str) -> None:
    names = {"GIT_AUTHOR_NAME": "A", "GIT_COMMITTER_NAME": "A"}
    mails = {"GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_EMAIL": "a@b"}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environ = {**os.environ, **names, **mails, **quiet}
    subprocess.run(["git", "-C", str(path), *words], check=True, capture_output=True, env=environ)


@pytest.fixture
def repository(app: Path) -> Path:
    git(app.parent, "init", "-q")
    git(app.parent, "add", "app.py")
    git(app.parent, "commit", "-qm", "first")
    return app.parent


def states(memory: Memory, record: Record) -> list[tuple[str, str]]:
    now = memory.get(record.id).record
    return [(str(each.state), each.place) for each in memory.standings(now)]


def rests_on(memory: Memory, *evidence: str) -> Record:
    return memory.store("The parser is hand-written", kind="fact", evidence=evidence)


def test_a_cited_file_is_fresh_moved_changed_or_gone(memory: Memory, app: Path) -> None:
    kept = rests_on(memory, f"{app}:10-12")
    assert states(memory, kept) == [("fresh", "")]
    write(app, CODE.replace("line 30\n", "another\n"))
    assert states(memory, kept) == [("fresh", "")]
    write(app, "new\nnew\n" + CODE)
    moved = str(app).replace(os.path.realpath(os.path.expanduser("~")) + "/", "~/")
    assert states(memory, kept) == [("moved", f"{moved}:12-14")]
    write(app, CODE.replace("line 11\n", "another\n"))
    assert states(memory, kept) == [("changed", "")]
    app.unlink()
    assert states(memory, kept) == [("gone", "")]


def test_a_file_that_was_not_written_since_is_not_read_again(
    memory: Memory, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = rests_on(memory, f"{app}:10-12")
    monkeypatch.setattr(outside_files.SeenFile, "read", lambda _: 1 / 0)
    assert states(memory, kept) == [("fresh", "")]
    with Memory.open(memory.place, origin="owner") as other:
        assert states(other, kept) == [("fresh", "")]


def test_a_citation_names_the_repository_and_its_commit(memory: Memory, repository: Path) -> None:
    kept = rests_on(memory, f"{repository}/app.py:3")
    head = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, check=True
    )
    found = read(kept.citations[0])
    assert found
    assert (found.path, found.commit) == ("app.py", head.stdout.decode()[:10])
    git(repository, "pack-refs", "--all")
    git(repository, "worktree", "add", "-q", "tree")
    there = read(rests_on(memory, f"{repository}/tree/app.py:3").citations[-1])
    assert there
    assert (there.path, there.commit) == ("app.py", found.commit)


def test_lines_that_are_not_committed_name_no_commit(
    memory: Memory, repository: Path, app: Path
) -> None:
    kept = rests_on(memory, f"{repository}/app.py:3")
    write(app, CODE.replace("line 3\n", "another\n"))
    memory.renew_citations(kept.id)
    found = read(memory.get(kept.id).record.citations[0])
    assert found
    assert (found.path, bool(found.repository), found.commit) == ("app.py", True, "")


def test_a_file_that_git_knows_by_another_name_has_moved(memory: Memory, repository: Path) -> None:
    kept = rests_on(memory, f"{repository}/app.py:3-4")
    git(repository, "mv", "app.py", "main.py")
    assert states(memory, kept) == [("moved", "main.py:3-4")]
    memory.renew_citations(kept.id)
    assert states(memory, kept) == [("fresh", "")]
    found = read(memory.get(kept.id).record.citations[0])
    assert found
    assert found.path == "main.py"


def test_a_document_is_cited_by_its_line(memory: Memory) -> None:
    memory.update("# Me\n\nI live in Bern.\n", document="USER.md", mode="rewrite")
    kept = rests_on(memory, "USER.md:3")
    found = read(kept.citations[0])
    assert found
    assert (found.place, found.in_vault) == ("USER.md:3", True)
    assert states(memory, kept) == [("fresh", "")]
    memory.update("# Me\n\nHello.\n\nI live in Bern.\n", document="USER.md", mode="rewrite")
    assert states(memory, kept) == [("moved", "USER.md:5")]
    memory.update("# Me\n\nI live in Rome.\n\n", document="USER.md", mode="rewrite")
    assert states(memory, kept) == [("changed", "")]


def test_what_went_stale_says_so_sinks_and_is_renewed_by_its_command(
    memory: Memory, app: Path
) -> None:
    kept = memory.store("The parser is a table of rules", kind="fact", evidence=[f"{app}:10"])
    other = memory.store("The parser of French has rules in a table", kind="fact")
    before = {hit.record.id: hit.score for hit in memory.search("parser table rules")}
    write(app, "nothing of it\n")
    hits = memory.search("parser table rules")
    day = memory.clock.today().isoformat()
    [stale] = [hit for hit in hits if hit.record.id == kept.id]
    assert stale.stale == f"cited file changed since {day}"
    assert stale.score < before[kept.id]
    assert [hit.stale for hit in hits if hit.record.id == other.id] == [""]
    assert memory.brief()[0].id == other.id
    for name, given in (("search", {"query": "parser table"}), ("brief", {})):
        told = str(tools.call(memory, name, given, dialect="native"))
        assert told.count(f"(cited file changed since {day})") == 1
    memory.strike([other.id])
    assert f"(cited file changed since {day})" in memory.relevant("which parser table?").text
    [finding] = memory.scan("evidence")
    assert finding.fix == f"commonplace cite {kept.id} --renew {app}:10"
    write(app, CODE.replace("line 10\n", "another\n"))
    memory.renew_citations(kept.id)
    assert memory.scan("evidence") == []
    memory.undo()
    assert len(memory.scan("evidence")) == 1


def test_evidence_is_added_dropped_and_told_again(memory: Memory, app: Path) -> None:
    kept = memory.store("The parser is hand-written", kind="fact")
    assert rests_on(memory, f"{app}:1").id == kept.id
    memory.cite(kept.id, f"{app}:2-3", f"{app}")
    memory.cite(kept.id, f"{app}:2-3")
    places = [each.citation.place for each in memory.standings(memory.get(kept.id).record)]
    assert [each.rpartition("app.py")[2] for each in places] == [":1", "", ":2-3"]
    memory.drop_citations(kept.id, places[0])
    with pytest.raises(BadValue, match="does not rest on"):
        memory.drop_citations(kept.id, places[0])
    memory.drop_citations(kept.id)
    assert memory.get(kept.id).record.citations == ()


@pytest.mark.parametrize("name", ["lacking.py", "app.py:99", "."])
def test_what_is_not_there_is_not_cited(memory: Memory, app: Path, name: str) -> None:
    with pytest.raises(BadValue, match="evidence"):
        rests_on(memory, str(app.parent / name))


@pytest.mark.in_files
def test_a_citation_that_came_with_a_vault_looks_at_nothing_until_it_is_trusted(
    place: str, app: Path
) -> None:
    """A poisoned record may name any file; so may all of a stranger's vault."""
    with Memory.open(place, create=True, origin="owner") as memory:
        made = written(memory.citations.cited(f"{app}:3", base="", outside=True))
        line = {"id": "mem-poisoned", "kind": "fact", "citations": [made]}
        memory.update(f"- Poisoned <!-- {json.dumps(line)} -->\n", mode="append")
        record = memory.get("mem-poisoned").record
        assert record.citations == (made,)
    app.unlink()
    with Memory.open(place, origin="owner") as memory:
        assert states(memory, record) == [("unchecked", "")]
        assert memory.scan("evidence") == []
        trusted.trust(place, keys="", at="")
    with Memory.open(place, origin="owner") as memory:
        assert states(memory, record) == [("gone", "")]


@pytest.mark.in_files
def test_links_devices_and_paths_that_climb_are_never_read(place: str, app: Path) -> None:
    with Memory.open(place, create=True, origin="owner") as memory:
        kept = rests_on(memory, f"{app}:3")
        secret = app.with_name("secret")
        app.rename(secret)
        app.symlink_to(secret)
        assert states(memory, kept) == [("changed", "")]
        app.unlink()
        os.mkfifo(app)
        assert states(memory, kept) == [("changed", "")]
        trusted.trust(place, keys="", at="")
        climbing = f"{app.parent}/../{app.parent.name}/secret"
        for path in ("/proc/self/environ", "/dev/zero", climbing):
            text = f"{path} 2026-11-18 #{'0' * 16}"
            assert memory.citations.standing(text).state == "unchecked"


def test_a_long_file_is_not_cited(
    memory: Memory, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_files, "MOST", 100)
    with pytest.raises(BadValue, match="longer than"):
        rests_on(memory, f"{app}:3")


@pytest.mark.skipif(os.name == "nt", reason="mounts are Linux's; to run it: a machine with Linux")
def test_a_disk_of_another_machine_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"a / ext4 rw 0 0\nb {tmp_path}/far nfs4 rw 0 0\n")
    monkeypatch.setattr(outside_files, "MOUNTS", str(mounts))
    outside_files._mounts.cache_clear()
    try:
        assert outside_files.is_far(f"{tmp_path}/far/x")
        assert not outside_files.is_far(f"{tmp_path}/farther")
        with pytest.raises(outside_files.Unseen):
            outside_files.look(f"{tmp_path}/far/x")
    finally:
        outside_files._mounts.cache_clear()


def test_an_agent_behind_a_gateway_cites_documents_alone(memory: Memory, app: Path) -> None:
    memory.update("I live in Bern.\n", document="USER.md")
    agent = memory.for_session("s", origin="agent")
    agent.bounded = True
    kept = rests_on(agent, "USER.md:1")
    assert states(memory, kept) == [("fresh", "")]
    with pytest.raises(BadValue, match="no document of this vault"):
        agent.store("x", evidence=[str(app)])


def test_who_has_read_untrusted_text_changes_no_evidence(memory: Memory, app: Path) -> None:
    kept = rests_on(memory, f"{app}:3")
    agent = memory.for_session("s", origin="agent")
    agent.taint("a page")
    changes: list[Any] = [agent.renew_citations, agent.drop_citations]
    for change in changes:
        with pytest.raises(Refused, match="untrusted text"):
            change(kept.id)
