"""What notes must do, wherever they are kept: values, logs, and names that one holds alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.model.errors import Busy
from commonplace.storage.notes import Notes


class NotesContract:
    """Subclasses say how they are made, and how someone else opens the same ones."""

    def fresh(self) -> Notes:
        raise NotImplementedError

    def again(self, notes: Notes) -> Notes:
        raise NotImplementedError

    @pytest.fixture
    def notes(self) -> Notes:
        return self.fresh()

    def test_there_is_nothing_at_first(self, notes: Notes) -> None:
        assert (notes.read("x.json"), notes.has("x.json")) == (None, False)

    def test_a_value_is_there_for_everybody_until_another_takes_its_place(
        self, notes: Notes
    ) -> None:
        notes.write("sessions/a.json", b"one")
        notes.write("b.json", bytes(range(256)), durable=True)
        other = self.again(notes)
        assert (other.read("sessions/a.json"), other.has("b.json")) == (b"one", True)
        other.write("sessions/a.json", b"")
        assert notes.read("sessions/a.json") == b""
        assert notes.read("b.json") == bytes(range(256))

    def test_a_value_that_many_write_at_once_is_one_of_theirs(self, notes: Notes) -> None:
        values = [b"%d" % number * 100 for number in range(200)]
        with ThreadPoolExecutor(8) as threads:
            for _ in threads.map(lambda value: notes.write("sessions/a.json", value), values):
                pass
        assert notes.read("sessions/a.json") in values
        assert notes.names("sessions") == ["sessions/a.json"]

    def test_a_log_keeps_its_lines_in_order(self, notes: Notes) -> None:
        for line in ("one", "zwei ☂"):
            notes.add("log.jsonl", line)
        assert notes.read("log.jsonl") == "one\nzwei ☂\n".encode()

    def test_a_log_may_stand_in_a_directory_that_is_not_there_yet(self, notes: Notes) -> None:
        notes.add("told/a.jsonl", "one")
        assert notes.names("told") == ["told/a.jsonl"]

    def test_a_log_that_is_too_long_keeps_its_end(self, notes: Notes) -> None:
        for number in range(200):
            notes.add("log.jsonl", f"line {number:03}", most=500, kept=10)
        lines = (notes.read("log.jsonl") or b"").decode().splitlines()
        assert lines[-1] == "line 199"
        assert 10 <= len(lines) < 60
        assert lines == [f"line {number:03}" for number in range(200 - len(lines), 200)]

    def test_no_line_of_a_log_is_lost_when_many_write_it(self, notes: Notes) -> None:
        def write(number: int) -> None:
            for line in range(20):
                notes.add("log.jsonl", f"{number} {line}")

        writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        lines = (notes.read("log.jsonl") or b"").decode().splitlines()
        assert sorted(lines) == sorted(f"{n} {line}" for n in range(4) for line in range(20))

    def test_a_name_has_one_holder(self, notes: Notes) -> None:
        other = self.again(notes)

        def take() -> None:
            with other.alone("upkeep.lock"):
                pass

        with notes.alone("upkeep.lock"):
            with pytest.raises(Busy):
                take()
            with other.alone("another.lock"):
                pass
        take()

    def test_an_error_lets_a_name_go(self, notes: Notes) -> None:
        with pytest.raises(RuntimeError), notes.alone("upkeep.lock"):
            raise RuntimeError
        with self.again(notes).alone("upkeep.lock"):
            pass
