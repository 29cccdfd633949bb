"""What every history must do, whatever it is kept in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from commonplace.history.messages import Conversation, History, Message
from commonplace.history.sql_questions import IN_SQLITE
from commonplace.model.clock import stamp
from commonplace.model.errors import BadInput
from commonplace.model.records import MESSAGE, Hit
from commonplace.search.index import Query
from tests.contracts.index import HOSTILE, SCRIPTS
from tests.data import clock_at


def message(number: int, content: str = "", **rest: str) -> Message:
    fields = {
        "id": f"msg-{number:05}",
        "session": "monday",
        "agent": "",
        "channel": "",
        "role": "assistant" if number % 2 else "user",
        "content": content or f"Said as number {number}",
        "time": f"2026-11-15T14:{number // 60 % 60:02}:{number % 60:02}.000Z",
    }
    return Message(**{**fields, **rest})


CLOCK = clock_at("2026-11-15T20:00:00Z")


def found(history: History, text: str, **query: Any) -> list[Hit]:
    return history.find(Query(text, **query), CLOCK)


def texts(hits: list[Hit]) -> list[str]:
    return [hit.record.text for hit in hits]


def told(messages: list[Message]) -> list[str]:
    return [each.content for each in messages]


FORBIDDEN = [
    "DELETE FROM messages",
    "DELETE FROM message",
    "UPDATE messages SET role = 'x'",
    "INSERT INTO messages VALUES(1, 2, 3, 4, 5, 6, 7)",
    "DROP TABLE message",
    "DROP VIEW messages",
    "CREATE TABLE t(a)",
    "CREATE TEMP TABLE t AS SELECT * FROM messages",
    "VACUUM",
    "REINDEX",
    "VACUUM INTO '/tmp/stolen.db'",
    "ATTACH '/etc/passwd' AS p",
    "DETACH main",
    "ANALYZE",
    "PRAGMA query_only = OFF",
    "PRAGMA user_version = 9",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON",
    "PRAGMA database_list",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "BEGIN IMMEDIATE",
    "SAVEPOINT a",
    "RELEASE a",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM sqlite_schema",
    "SELECT sql FROM sqlite_temp_master",
    "SELECT words FROM message",
    "SELECT * FROM message",
    "SELECT * FROM message_words",
    "SELECT * FROM message_words_data",
    "SELECT * FROM dbstat",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_table_info('message')",
    "SELECT 1; DELETE FROM message",
    "SELECT 1; SELECT 2",
    "",
    " ",
    ";",
    "-- nothing",
    "SELECT",
    "SELEC 1",
    "SELECT ?",
    "SELECT :a",
    "SELECT nothing FROM messages",
    "SELECT * FROM nowhere",
    "WITH m AS (SELECT 1) DELETE FROM messages",
    "EXPLAIN DELETE FROM message",
    "SELECT \0",
    "REPLACE INTO message(id) VALUES('a')",
    "ALTER TABLE message RENAME TO m",
    "SELECT '\ud800'",
    "SELECT " + "(1 + " * 500 + "1" + ")" * 500,
    "SELECT " + "1," * 500 + "1",
    "SELECT 1 --" * 20_000,
    "CREATE TRIGGER t AFTER INSERT ON message BEGIN SELECT 1; END",
    "SELECT zeroblob(100000001)",
    "SELECT * FROM main.message",
    "SELECT (SELECT words FROM message)",
    "SELECT m.words FROM message m",
    "SELECT content FROM messages UNION SELECT words FROM message",
    "SELECT hex(randomblob(6e7))",
    "CREATE VIRTUAL TABLE v USING fts5vocab(message_words, row)",
    "PRAGMA wal_checkpoint(TRUNCATE)",
]
PIECES = """SELECT DELETE FROM message messages sessions WHERE 1 = 1 ; , * ( ) ' UNION ATTACH PRAGMA
INSERT INTO VALUES UPDATE SET role DROP TABLE id WITH AS x -- /* AND count(*) content"""
RUNAWAY = [
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
]


class HistoryContract:
    """Subclass it, give `fresh`, and every test below holds for that history."""

    last_hour = IN_SQLITE

    def fresh(self) -> History:
        raise NotImplementedError

    @pytest.fixture
    def history(self) -> Iterator[History]:
        history = self.fresh()
        yield history
        assert history.healthy() == ""
        history.close()

    def test_a_new_history_is_empty(self, history: History) -> None:
        assert (history.count(), history.sessions(), list(history.dump())) == (0, [], [])
        assert (history.last("", 5), history.search("tea", limit=5)) == ([], [])
        assert history.get("msg-1") is None

    def test_a_message_comes_back_as_it_was_given(self, history: History) -> None:
        whole = message(1, 'One\n"two" \\ \0 🎉', agent="main", channel="#home", role="tool")
        assert history.append([whole]) == 1
        assert (history.get(whole.id), history.last("monday", 1)) == (whole, [whole])

    def test_messages_are_ranked_as_records_are(self, history: History) -> None:
        history.append([message(0, "Which wall shall we paint?"), message(1, "The one outside.")])
        history.append([message(2, "It rains", session="tuesday"), message(3, "A paint brush")])
        best, *others = found(history, "when do we paint the garden wall?", explain=True)
        assert (best.record.text, best.record.kind) == ("Which wall shall we paint?", MESSAGE)
        assert (best.record.session, best.record.username) == ("monday", "user")
        assert (best.record.timestamp, best.places) == ("2026-11-15T14:00:00.000Z", ())
        assert [near.text for near in best.beside] == ["The one outside."]
        assert 0 < best.score < 1
        assert "words" in dict(best.why)
        assert set(texts(others)) == {"The one outside.", "A paint brush"}

    def test_found_messages_fit_the_rest_of_the_query(self, history: History) -> None:
        history.append([message(0, "tea one"), message(1, "tea two", session="tuesday")])
        history.append([message(2, "tea three", time="2026-11-14T09:00:00.000Z")])
        assert texts(found(history, "tea", session="tuesday")) == ["tea two"]
        assert texts(found(history, "tea", until="2026-11-14")) == ["tea three"]
        assert set(texts(found(history, "tea", since="2026-11-15"))) == {"tea one", "tea two"}
        assert texts(found(history, "", since="2026-11-15", limit=1)) == ["tea two"]
        assert found(history, "tea", kinds=("fact",)) == []
        assert found(history, "tea", tags=("drinks",)) == []
        assert found(history, "tea", limit=0) == []

    def test_a_sign_is_found_and_nothing_looks_like_nothing(self, history: History) -> None:
        history.append([message(0, "Well done 🎉"), message(1, "Thanks")])
        assert texts(found(history, "🎉")) == ["Well done 🎉"]
        assert (found(history, "🎈"), found(history, "submarine")) == ([], [])

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_query_for_messages_is_only_a_text(self, history: History, text: str) -> None:
        history.append([message(0, "tea")])
        assert isinstance(found(history, text, session=text, since=text), list)

    def test_the_last_messages_come_oldest_first(self, history: History) -> None:
        history.append(message(number) for number in range(20))
        assert history.last("monday", 3) == [message(17), message(18), message(19)]
        assert len(history.last("monday", 100)) == 20

    def test_the_last_are_those_of_the_session_agent_and_channel_that_are_named(
        self, history: History
    ) -> None:
        history.append(
            [
                message(1, session="tuesday"),
                message(2, agent="main"),
                message(3, agent="main", channel="#home"),
                message(4, session="tuesday", agent="main"),
            ]
        )
        assert [each.id for each in history.last("tuesday", 9)] == ["msg-00001", "msg-00004"]
        assert [each.id for each in history.last("monday", 9, agent="main")] == [
            "msg-00002",
            "msg-00003",
        ]
        assert [each.id for each in history.last("", 9, channel="#home")] == ["msg-00003"]
        assert len(history.last("", 9)) == 4

    def test_a_session_is_read_page_by_page_from_either_end(self, history: History) -> None:
        moment = "2026-11-15T14:30:00.000Z"
        every = [message(number, time=moment) for number in range(7)]
        history.append([*every, message(50, session=""), message(51, session="tuesday")])
        assert history.page("monday", 3) == every[:3]
        assert history.page("monday", 3, past=every[2].id) == every[3:6]
        assert history.page("monday", 9, past=every[5].id) == every[6:]
        assert history.page("monday", 3, back=True) == every[4:]
        assert history.page("monday", 3, past=every[4].id, back=True) == every[1:4]
        assert history.page("monday", 3, past=every[0].id, back=True) == []
        assert history.page("", 9) == [message(50, session="")]

    def test_past_a_message_that_is_not_there_is_nothing(self, history: History) -> None:
        history.append([message(1)])
        assert history.page("monday", 3, past="msg-none") == []
        assert history.page("monday", 3, past="msg-none", back=True) == []

    def test_a_session_opens_with_what_its_user_first_said(self, history: History) -> None:
        history.append(
            [
                message(1, role="system"),
                message(2, role="user"),
                message(4, role="user"),
                message(3, role="assistant", session=""),
                message(5, role="assistant", session=""),
            ]
        )
        found = history.openings(["monday", "", "none", "monday"])
        assert sorted(each.id for each in found) == ["msg-00002", "msg-00003"]

    def test_messages_of_one_moment_stay_in_the_order_they_came_in(self, history: History) -> None:
        moment = "2026-11-15T14:30:00.000Z"
        history.append(message(9 - number, str(number), time=moment) for number in range(9))
        assert told(history.last("monday", 9)) == [str(number) for number in range(9)]
        other = self.fresh()
        other.load(history.dump())
        assert told(other.last("monday", 9)) == [str(number) for number in range(9)]
        other.close()

    def test_an_older_message_that_comes_late_stands_where_it_belongs(
        self, history: History
    ) -> None:
        history.append([message(5), message(1)])
        assert history.last("monday", 9) == [message(1), message(5)]

    def test_a_message_that_is_there_already_is_let_be(self, history: History) -> None:
        assert history.append([message(1, "First"), message(2)]) == 2
        assert history.append([message(1, "Second"), message(3)]) == 1
        assert (history.count(), history.last("monday", 9)[0].content) == (3, "First")
        assert history.search("second", limit=5) == []

    def test_a_failed_append_keeps_nothing(self, history: History) -> None:
        def failing() -> Iterator[Message]:
            yield message(1)
            raise ZeroDivisionError

        pytest.raises(ZeroDivisionError, history.append, failing())
        assert (history.count(), history.search("said", limit=5)) == (0, [])

    @pytest.mark.parametrize(("text", "query", "absent"), SCRIPTS)
    def test_words_of_any_script_are_found(
        self, history: History, text: str, query: str, absent: str
    ) -> None:
        history.append([message(1, text), message(2, "Something else entirely")])
        assert told(history.search(query, limit=5)) == [text]
        assert history.search(absent, limit=5) == []

    @pytest.mark.parametrize("query", HOSTILE, ids=lambda query: ascii(query)[:30])
    def test_any_text_can_be_searched_for(self, history: History, query: str) -> None:
        history.append([message(1, "A plain message")])
        assert len(history.search(query, limit=5)) <= 1

    def test_the_best_fit_comes_first_and_only_of_the_session_named(self, history: History) -> None:
        history.append(
            [
                message(1, "We talked about many things, among them tea and cake and bread"),
                message(2, "Tea, green tea"),
                message(3, "tea", session="tuesday"),
                message(4, "Nothing of it"),
            ]
        )
        assert history.search("green tea", limit=1) == [history.get("msg-00002")]
        assert len(history.search("tea", limit=9)) == 3
        assert told(history.search("tea", limit=9, session="tuesday")) == ["tea"]

    def test_a_search_without_words_gives_the_newest_first(self, history: History) -> None:
        history.append(message(number) for number in range(5))
        assert history.search(" ", limit=2) == [message(4), message(3)]

    def test_sessions_are_counted_and_the_one_that_spoke_last_is_first(
        self, history: History
    ) -> None:
        history.append([message(1), message(2, session=""), message(3), message(9, session="t")])
        assert history.sessions() == [
            Conversation("t", 1, message(9).time, message(9).time),
            Conversation("monday", 2, message(1).time, message(3).time),
            Conversation("", 1, message(2).time, message(2).time),
        ]

    def test_what_was_dumped_can_be_loaded_and_loaded_again(self, history: History) -> None:
        history.append([message(number, f"Line\n{number} \u2028 é 🎉") for number in range(50)])
        lines = list(history.dump())
        assert [json.loads(line) for line in lines] == [
            asdict(each) for each in history.last("monday", 99)
        ]
        other = self.fresh()
        assert (other.load(lines), other.load(lines)) == (50, 0)
        assert list(other.dump()) == lines
        assert len(other.search("line", limit=99)) == 50
        other.close()

    def test_a_dump_goes_through_what_cleans_it(self, history: History) -> None:
        history.append([message(1, "the key is 1234")])
        other = self.fresh()
        other.load(history.dump(), clean=lambda text: text.replace("1234", "…"))
        assert told(other.last("", 1)) == ["the key is …"]
        other.close()

    @pytest.mark.parametrize(
        ("changes", "problem"),
        [
            ({"role": ""}, "role: '' is not a role"),
            ({"role": "User one"}, "role: 'User one' is not a role"),
            ({"id": ""}, "id: it is empty"),
            ({"content": ""}, "content: it is empty"),
            ({"content": 5}, "content: it is not a text"),
            ({"content": "\ud800"}, "content: it is not a text"),
            ({"time": "yesterday"}, "time: 'yesterday' is no time"),
            ({"more": "x"}, "it is not an object with id, session, agent"),
        ],
    )
    def test_a_bad_line_is_named_and_nothing_is_loaded(
        self, history: History, changes: dict[str, Any], problem: str
    ) -> None:
        good = json.dumps(asdict(message(1)))
        bad = json.dumps({**asdict(message(2)), **changes})
        with pytest.raises(BadInput) as raised:
            history.load([good, "", bad, "{", good])
        first, *problems, last = str(raised.value).splitlines()
        assert (history.count(), len(problems)) == (0, 2)
        assert first == "Nothing was loaded, because of these lines:"
        assert problems[0].startswith("line 3: ")
        assert problem in problems[0]
        assert problems[1].startswith("line 4: ")
        assert last == " Mend or remove them and load the file again."

    def test_of_many_bad_lines_the_first_are_named(self, history: History) -> None:
        with pytest.raises(BadInput) as raised:
            history.load(["no"] * 1000)
        problems = str(raised.value).splitlines()[1:-1]
        assert (len(problems), problems[-1]) == (21, "…")

    def test_a_time_with_an_offset_is_kept_in_utc(self, history: History) -> None:
        line = json.dumps({**asdict(message(1)), "time": "2026-11-15T15:30:00+01:00"})
        history.load([line])
        assert history.last("", 1)[0].time == "2026-11-15T14:30:00.000Z"

    def test_what_is_forgotten_is_gone(self, history: History) -> None:
        history.append(message(number, f"pineapple {number}") for number in range(4))
        assert history.forget(["msg-00001", "msg-00002", "msg-none"]) == 2
        assert told(history.last("", 9)) == ["pineapple 0", "pineapple 3"]
        assert len(history.search("pineapple", limit=9)) == 2
        assert history.forget([]) == 0

    def test_a_question_in_sql_is_answered(self, history: History) -> None:
        history.append(message(number) for number in range(4))
        found = history.sql(
            "SELECT role, count(*) AS said FROM messages GROUP BY role ORDER BY role", limit=10
        )
        assert (found.columns, found.rows) == (("role", "said"), (("assistant", 2), ("user", 2)))
        assert (found.more, found.cut) == (False, 0)

    @pytest.mark.parametrize(
        ("statement", "rows"),
        [
            ("SELECT count(*) FROM messages", ((4,),)),
            ("select max(time) from messages", (("2026-11-15 14:00:03.000",),)),
            ("SELECT messages FROM sessions WHERE session = 'monday'", ((4,),)),
            ("WITH m AS (SELECT * FROM messages) SELECT count(*) FROM m", ((4,),)),
            (
                "SELECT content FROM messages WHERE content LIKE '%number 3%';",
                (("Said as number 3",),),
            ),
            ("SELECT m.role FROM messages AS m WHERE m.id = 'msg-00002'", (("user",),)),
            (
                "SELECT (SELECT count(*) FROM messages), upper('a'), NULL, 1.5",
                ((4, "A", None, 1.5),),
            ),
            ("VALUES (1, 'two')", ((1, "two"),)),
            ("SELECT count(*) FROM messages a JOIN messages b ON a.session = b.session", ((16,),)),
        ],
    )
    def test_questions_may_be_put_in_the_ways_people_put_them(
        self, history: History, statement: str, rows: tuple[Any, ...]
    ) -> None:
        history.append(message(number) for number in range(4))
        assert history.sql(statement, limit=10).rows == rows

    @pytest.mark.claim("journal.history-last-hour")
    def test_the_last_hour_can_be_asked_for(self, history: History) -> None:
        now = datetime.now(UTC)
        ages = {"new": 1, "hour": 59, "older": 61, "before": 60 * 23, "yesterday": 60 * 25}
        history.append(
            message(number, name, time=stamp(now - timedelta(minutes=age)))
            for number, (name, age) in enumerate(ages.items())
        )
        last_day = self.last_hour.replace("1 hour", "24 hour")
        for asked, told in ((self.last_hour, {"new", "hour"}), (last_day, {*ages} - {"yesterday"})):
            found = history.sql(asked, limit=10)
            assert {row[found.columns.index("content")] for row in found.rows} == told
        sessions = self.last_hour.replace("time, role, content", "session").replace(
            "messages WHERE time", "sessions WHERE last"
        )
        assert history.sql(sessions.replace("ORDER BY time", ""), limit=9).rows == (("monday",),)
        written = history.sql("SELECT time FROM messages WHERE content = 'new'", limit=1).rows
        assert written == ((stamp(now - timedelta(minutes=1))[:-1].replace("T", " "),),)

    @pytest.mark.parametrize("statement", FORBIDDEN, ids=lambda each: ascii(each)[:40])
    def test_a_statement_that_is_no_question_is_refused_and_changes_nothing(
        self, history: History, statement: str
    ) -> None:
        history.append([message(1)])
        with pytest.raises(BadInput, match="Ask with one SELECT over messages"):
            history.sql(statement, limit=10)
        assert history.last("", 9) == [message(1)]
        assert history.sql("SELECT count(*) FROM messages", limit=1).rows == ((1,),)

    def test_any_statement_is_answered_or_refused_and_changes_nothing(
        self, history: History
    ) -> None:
        history.append([message(1), message(2)])

        @settings(deadline=None)
        @given(
            st.lists(st.sampled_from(PIECES.split()), max_size=12).map(" ".join)
            | st.text(max_size=60)
        )
        def law(statement: str) -> None:
            with suppress(BadInput):
                history.sql(statement, limit=5)
            assert history.last("", 9) == [message(1), message(2)]

        law()

    def test_rows_and_cells_are_limited_and_it_is_said(self, history: History) -> None:
        history.append([message(1, "a" * 50_000), message(2, "b")])
        found = history.sql("SELECT content FROM messages ORDER BY time", limit=1)
        assert (found.more, found.cut, len(found.rows)) == (True, 1, 1)
        assert found.rows[0][0].endswith("a…")
        assert len(found.rows[0][0]) < 25_000
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
        assert [row[0] for row in history.sql(endless, limit=3).rows] == [1, 2, 3]
