"""What every vault must do, wherever its documents are."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.model.errors import BadName, Busy, NoSuchDocument
from commonplace.storage.vault import Moved, Vault

NAME = "MEMORY.md"
BAD_NAMES = ("", "../x.md", "/etc/x.md", "a/../b.md", "x.txt", ".x.md", "a//b.md", "a\0.md")
LOCK_SECONDS = 0.2


def append(vault: Vault, data: bytes, name: str = NAME) -> None:
    with vault.lock():
        vault.append(name, data, like=vault.stat(name))


class VaultContract:
    """Subclasses say how one is made, and how the same documents are opened by someone else."""

    def fresh(self) -> Vault:
        raise NotImplementedError

    def again(self, vault: Vault) -> Vault:
        raise NotImplementedError

    @pytest.fixture
    def vault(self) -> Vault:
        return self.fresh()

    def test_a_new_vault_is_empty(self, vault: Vault) -> None:
        assert (vault.listing().documents, vault.listing().unreadable) == ({}, {})
        assert vault.stat(NAME) is None

    def test_what_is_appended_is_read(self, vault: Vault) -> None:
        append(vault, b"one\n")
        append(vault, b"two\n")
        assert vault.read(NAME) == b"one\ntwo\n"
        assert self.again(vault).read(NAME) == b"one\ntwo\n"

    def test_any_bytes_in_any_pieces_are_kept(self) -> None:
        @settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
        @given(st.lists(st.binary(min_size=1), min_size=1, max_size=6))
        def every(pieces: list[bytes]) -> None:
            for piece in pieces:
                append(vault, piece)
            whole = b"".join(pieces)
            assert vault.read(NAME) == whole
            assert vault.tail(NAME, size=len(whole)) == whole[-2:]
            found = vault.stat(NAME)
            assert found
            assert found.size == len(whole)
            with vault.lock():
                vault.remove(NAME)

        vault = self.fresh()
        every()

    def test_an_empty_document_is_a_document(self, vault: Vault) -> None:
        with vault.lock():
            vault.replace(NAME, b"", expected=None)
        assert vault.read(NAME) == b""
        append(vault, b"one\n")
        assert vault.read(NAME) == b"one\n"

    def test_every_document_is_listed_as_it_looks(self, vault: Vault) -> None:
        ordered = ["MEMORY.md", "z.md", "a/two.md", "a/b/c.md", "a/b-c/one.md", "memory/x.md"]
        for name in sorted(ordered, reverse=True):
            append(vault, name.encode(), name)
        listed = vault.listing().documents
        assert list(listed) == ordered
        assert listed == {name: vault.stat(name) for name in listed}

    def test_an_append_to_what_looks_otherwise_is_refused_whole(self, vault: Vault) -> None:
        append(vault, b"one\n")
        stale = vault.stat(NAME)
        append(vault, b"two\n")
        with pytest.raises(Moved), vault.lock():
            vault.append(NAME, b"three\n", like=stale)
        with pytest.raises(Moved), vault.lock():
            vault.append(NAME, b"three\n", like=None)
        assert vault.read(NAME) == b"one\ntwo\n"

    def test_an_append_can_be_taken_back(self, vault: Vault) -> None:
        append(vault, b"one\n")
        append(vault, b"two\n")
        with vault.lock():
            vault.cut(NAME, at=4, size=8)
        assert vault.read(NAME) == b"one\n"
        append(vault, b"three\n")
        with vault.lock():
            vault.cut(NAME, at=0, size=10)
        assert vault.read(NAME) == b""

    def test_the_tail_of_nothing_is_empty(self, vault: Vault) -> None:
        assert vault.tail(NAME, size=0) == b""

    def test_a_whole_text_takes_the_place_of_the_other(self, vault: Vault) -> None:
        append(vault, b"one\n")
        append(vault, b"two\n")
        before = vault.stat(NAME)
        with vault.lock():
            done = vault.replace(NAME, b"ONE\nTWO\n", expected=b"one\ntwo\n")
        assert done == vault.stat(NAME) != before
        assert vault.read(NAME) == b"ONE\nTWO\n"
        append(vault, b"three\n")
        assert vault.read(NAME) == b"ONE\nTWO\nthree\n"

    def test_a_text_that_was_not_expected_stays(self, vault: Vault) -> None:
        append(vault, b"theirs\n")
        before = vault.stat(NAME)
        with vault.lock(), pytest.raises(Moved):
            vault.replace(NAME, b"ours\n", expected=b"old\n")
        assert vault.read(NAME) == b"theirs\n"
        assert vault.stat(NAME) == before
        assert list(vault.listing().documents) == [NAME]

    def test_a_staged_text_takes_its_place_with_what_came_to_it(self, vault: Vault) -> None:
        append(vault, b"old\n")
        staged = vault.stage(NAME, b"new\n")
        assert vault.read(NAME) == b"old\n"
        with vault.lock():
            like = vault.stat(NAME)
            done = vault.replace(
                NAME, b"new\nand more\n", expected=b"old\n", like=like, staged=staged
            )
        vault.unstage(staged)
        assert vault.read(NAME) == b"new\nand more\n"
        assert vault.stat(NAME) == done

    def test_another_text_than_the_staged_one_is_written_whole(self, vault: Vault) -> None:
        append(vault, b"old\n")
        staged = vault.stage(NAME, b"new\n")
        with vault.lock():
            vault.replace(NAME, b"another\n", expected=b"old\n", staged=staged)
        vault.unstage(staged)
        assert vault.read(NAME) == b"another\n"

    def test_what_is_no_longer_staged_leaves_no_trace(self, vault: Vault) -> None:
        append(vault, b"old\n")
        staged = vault.stage(NAME, b"new\n")
        vault.unstage(staged)
        vault.unstage(staged)
        assert list(vault.listing().documents) == [NAME]
        assert vault.read(NAME) == b"old\n"

    def test_a_text_that_no_longer_looks_as_it_did_stays(self, vault: Vault) -> None:
        append(vault, b"old\n")
        like = vault.stat(NAME)
        append(vault, b"and more\n")
        with vault.lock(), pytest.raises(Moved):
            vault.replace(NAME, b"new\n", expected=b"old\n", like=like)
        assert vault.read(NAME) == b"old\nand more\n"

    def test_a_document_that_was_taken_away_is_gone(self, vault: Vault) -> None:
        append(vault, b"one\n", "notes/x.md")
        with vault.lock():
            vault.remove("notes/x.md")
        assert (vault.stat("notes/x.md"), vault.listing().documents) == (None, {})
        append(vault, b"two\n", "notes/x.md")
        assert vault.read("notes/x.md") == b"two\n"

    def test_what_is_not_there_cannot_be_read_or_taken_away(self, vault: Vault) -> None:
        with pytest.raises(NoSuchDocument):
            vault.read(NAME)
        with pytest.raises(NoSuchDocument), vault.lock():
            vault.remove(NAME)

    @pytest.mark.parametrize("name", BAD_NAMES)
    def test_a_name_that_leads_elsewhere_is_refused(self, vault: Vault, name: str) -> None:
        deeds: list[Callable[[], object]] = [
            lambda: vault.read(name),
            lambda: vault.stat(name),
            lambda: vault.tail(name, size=0),
            lambda: vault.append(name, b"x", like=None),
            lambda: vault.replace(name, b"x", expected=None),
            lambda: vault.remove(name),
        ]
        for deed in deeds:
            with pytest.raises(BadName), vault.lock():
                deed()
        assert vault.listing().documents == {}

    def test_who_holds_the_lock_may_take_it_again(self, vault: Vault) -> None:
        with vault.lock():
            with vault.lock():
                vault.append(NAME, b"one\n", like=None)
            vault.append("a.md", b"two\n", like=None)
        assert sorted(vault.listing().documents) == [NAME, "a.md"]

    def test_another_writer_waits_and_is_told_when_it_takes_too_long(self, vault: Vault) -> None:
        other, told = self.again(vault), []

        def write() -> None:
            try:
                with other.lock():
                    told.append("in")
            except Busy as error:
                told.append(str(error))

        with vault.lock():
            waiting = threading.Thread(target=write)
            waiting.start()
            waiting.join()
        write()
        assert told[0].startswith("Another process has held")
        assert told[1:] == ["in"]

    def test_an_error_lets_the_lock_go(self, vault: Vault) -> None:
        with pytest.raises(RuntimeError), vault.lock():
            raise RuntimeError
        with self.again(vault).lock():
            pass

    def test_nothing_is_being_edited_where_nobody_edits(self, vault: Vault) -> None:
        append(vault, b"one\n")
        vault.sync(NAME)
        assert not vault.being_edited(NAME)
