"""What makes one candidate better than another, one signal at a time."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.search.index import Candidate
from commonplace.search.ranking import MEMORY, TURN, WEIGHTS, features, ranked
from commonplace.search.scene import Scene
from tests.support.clocks import SkippingClock

TODAY = date(2023, 5, 17)


def candidate(key: int, text: object, **rest: object) -> Candidate:
    told = {
        "key": key,
        "id": f"mem-{key}",
        "kind": "note",
        "text": text,
        "timestamp": "2023-05-01T10:00:00.000Z",
        "session": "",
        "username": "",
        "channel": "",
        "origin": "agent",
        "superseded": False,
        "within": "MEMORY.md",
        "before": 0,
        "after": 0,
        "words": 5.0,
        "words_rank": 3,
        "cosine": 0.5,
        "cosine_rank": 3,
    }
    return Candidate(**(told | rest))  # type: ignore[arg-type]


SAID: dict[str, object] = {"session": "s", "within": "s", "username": "Ben"}
"""A turn of a conversation."""

PAIRS: dict[str, tuple[dict[str, object], dict[str, object], str]] = {
    "more of the words": ({"words": 9.0, "words_rank": 0}, {}, "garden"),
    "nearer in meaning": ({"cosine": 0.9, "cosine_rank": 0}, {}, "garden"),
    "of the time that is named": (
        {"timestamp": "2023-03-03T10:00:00.000Z"},
        {"timestamp": "2023-01-03T10:00:00.000Z"},
        "garden in March",
    ),
    "newer": ({}, {"timestamp": "2021-05-01T10:00:00.000Z"}, "garden"),
    "by the one who is named": (
        {"username": "Anna"},
        {"username": "Ben"},
        "What did Anna plant in the garden?",
    ),
    "by the user": (
        SAID | {"username": "user"},
        SAID | {"username": "assistant"},
        "my garden",
    ),
    "by the user where the assistant is only bidden": (
        SAID | {"username": "user"},
        SAID | {"username": "assistant"},
        "Can you recommend something for my garden?",
    ),
    "by the assistant that is asked about": (
        SAID | {"username": "assistant"},
        SAID | {"username": "user"},
        "What did you tell me of the garden?",
    ),
    "said of oneself": (SAID | {"text": "my garden"}, SAID | {"text": "a garden"}, "garden"),
    "not replaced": ({}, {"superseded": True}, "garden"),
    "not from the web": ({}, {"origin": "web"}, "garden"),
    "first hand": ({}, {"kind": "compaction"}, "garden"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_of_two_that_are_else_alike_one_is_better(name: str) -> None:
    better, worse, question = PAIRS[name]
    # The worse has the lower id and stands first, so that no order of theirs helps.
    text: dict[str, object] = {"text": "a garden"}
    pair = [candidate(1, **(text | worse)), candidate(2, **(text | better))]
    order = ranked(pair, question, TODAY, limit=2)
    assert [each.candidate.key for each in order] == [2, 1]


def test_what_tells_when_is_better_where_the_question_asks_when() -> None:
    pair = [candidate(1, "planted the garden alone"), candidate(2, "planted the garden last week")]
    order = ranked(pair, "When was the garden planted?", TODAY, limit=2)
    assert order[0].candidate.key == 2


def test_a_short_answer_gains_by_the_question_before_it() -> None:
    talk = {"session": "s", "within": "s", "words_rank": -1, "words": 0.0, "cosine_rank": -1}
    found = [
        candidate(1, "Which dog did you get?", session="s", within="s", after=2, words_rank=0),
        candidate(2, "A beagle!", before=1, **talk),
        candidate(3, "A beagle!", **(talk | {"session": "t", "within": "t"}), before=4),
        candidate(4, "Hm.", **(talk | {"session": "t", "within": "t"}), after=3),
    ]
    keys = [each.candidate.key for each in ranked(found, "Which dog?", TODAY, limit=4)]
    assert keys.index(2) < keys.index(3)


def test_an_offer_at_the_end_of_what_the_assistant_says_makes_no_answer_of_the_next_turn() -> None:
    said = {"session": "s", "within": "s"}
    found = [
        candidate(1, "Dogs are loyal. More on a dog?", after=2, username="assistant", **said),
        candidate(2, "A beagle!", before=1, username="user", **said),
    ]
    by_another = [found[0]._replace(username="Ben"), found[1]]
    for talk, value in ((found, 0.0), (by_another, 1.0)):
        assert features(Scene(talk, "Which dog?", TODAY))["answers_words"] == [0.0, value]


def test_words_of_the_question_count_together_with_those_of_the_turns_around_and_the_session() -> (
    None
):
    said = {"session": "s", "within": "s"}
    found = [
        candidate(1, "The harbour was cold", after=2, **said),
        candidate(2, "We saw a puffin", before=1, after=3, **said),
        candidate(3, "Then it rained", before=2, **said),
        candidate(4, "A puffin", session="t", within="t"),
    ]
    signals = features(Scene(found, "harbour puffin", TODAY))
    around, session = signals["told_around"], signals["told_in_session"]
    assert around[0] == around[1] == pytest.approx(1.0)
    assert 0 < around[2] == around[3] < 1
    assert session[0] == session[1] == session[2] == pytest.approx(1.0)
    assert 0 < session[3] < 1


def test_a_session_that_goes_on_for_days_is_several() -> None:
    said = {"session": "s", "within": "s"}
    other = {**said, "timestamp": "2023-05-02T10:00:00.000Z"}
    found = [
        candidate(1, "The garden has roses", words=9.0, **said),
        candidate(2, "Lovely", words=1.0, **said),
        candidate(3, "The bus was late", words=1.0, **other),
    ]
    best = features(Scene(found, "roses in the garden", TODAY))["session_best_words"]
    assert best[0] == best[1] > best[2]


@pytest.mark.parametrize(
    ("question", "is_about_it"),
    [
        ("Which sealant did you recommend?", True),
        ("What was your advice about the roof?", True),
        ("What came of our previous conversation about the roof?", True),
        ("What did you say when I asked about the roof?", True),
        ("Which sealant was it that you just mentioned?", True),
        ("Can you suggest a sealant?", False),
        ("Tell me everything you know about the roof", False),
        ("Do you have my roof in your notes?", False),
        ("What do you need to mend the roof?", False),
        ("What did I tell you about the roof?", False),
        ("Remind me what I told you about the roof", False),
        ("Can you remind me when my lease ends?", False),
        ("What did I say in our last chat about the roof?", False),
    ],
)
def test_only_what_an_assistant_said_is_looked_for_in_its_turns(
    question: str, *, is_about_it: bool
) -> None:
    turns = [candidate(1, "a roof", username="assistant"), candidate(2, "a roof", username="Ann")]
    told = features(Scene(turns, question, TODAY))["of_assistant"]
    assert told == [float(is_about_it), 0.0]


def weighed(
    found: list[Candidate], question: str, *, of: int, alone: bool = False
) -> list[dict[str, float]]:
    """What each signal of each candidate gives, without what nobody would be told."""
    columns = features(Scene(found, question, TODAY))
    weights = {signal.__name__: each[of + alone] for signal, each in WEIGHTS.items()}
    parts = [
        {name: weights[name] * column[at] for name, column in columns.items()}
        for at in range(len(found))
    ]
    return [{name: part for name, part in each.items() if round(part, 2)} for each in parts]


@pytest.mark.parametrize(
    ("said", "of"), [({"kind": "fact"}, MEMORY), (SAID, TURN)], ids=["memory", "turn"]
)
def test_the_parts_of_a_rank_are_its_signals_times_their_weights(
    said: dict[str, object], of: int
) -> None:
    far = {"words": 2.0, "words_rank": 9, "cosine": 0.3, "cosine_rank": 9}
    found = [
        candidate(1, "my garden?", **(said | {"username": "Ben", "origin": "web"})),
        candidate(2, "a garden", **(said | far)),
    ]
    order = ranked(found, "Which garden has Ben?", TODAY, limit=2)
    parts = {each.candidate.key: each.parts() for each in order}
    assert [parts[1], parts[2]] == weighed(found, "Which garden has Ben?", of=of)
    for each in parts.values():
        assert list(each.values()) == sorted(each.values(), key=abs, reverse=True)


def test_without_vectors_the_words_have_weights_of_their_own() -> None:
    found = [candidate(1, "a garden", cosine=0.0, cosine_rank=-1)]
    (only,) = ranked(found, "garden", TODAY, limit=1)
    alone = weighed(found, "garden", of=MEMORY, alone=True)
    assert [only.parts()] == alone != weighed(found, "garden", of=MEMORY)


def test_turns_and_memories_of_one_vault_are_ranked_by_how_likely_each_is() -> None:
    far = {"words": 0.5, "words_rank": 9, "cosine": 0.1, "cosine_rank": 9}
    for turn, memory in (({}, far), (far, {})):
        found = [candidate(1, "a garden", **(SAID | turn)), candidate(2, "a garden", **memory)]
        order = ranked(found, "garden with roses", TODAY, limit=2)
        assert [each.candidate.key for each in order] == ([1, 2] if turn == {} else [2, 1])
        assert order[0].relevance > order[1].relevance


def test_the_nearest_memory_is_better_than_one_that_shares_a_word_by_accident() -> None:
    found = [
        candidate(1, "Takes the ferry at seven", cosine=0.05, cosine_rank=40),
        candidate(2, "Melatonin at ten", words=0.0, words_rank=-1, cosine=0.3, cosine_rank=0),
        candidate(3, "Sleeper to Narvik", words=0.0, words_rank=-1, cosine=0.2, cosine_rank=1),
    ]
    order = ranked(found, "Which pills do I take for insomnia?", TODAY, limit=3)
    assert order[0].candidate.key == 2


def test_what_a_hit_must_have_in_common_depends_on_how_much_of_the_question_is_told() -> None:
    near = candidate(1, "Prefers oolong", words=0.0, words_rank=-1, cosine=0.2, cosine_rank=1)
    other = candidate(2, "green tea in the morning")
    for question, shown in (("green tea", [2]), ("green tea or something else hot", [2, 1])):
        order = ranked([near, other], question, TODAY, limit=2)
        assert [each.candidate.key for each in order] == shown


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path, "native", clock=SkippingClock(), environ={})
    for text in (
        "The spare key hangs behind the barometer in the hall",
        "Prefers dark mode in every editor",
        "The dentist moved to Harbour Street 12",
        "Grandmother's plum cake needs two hundred grams of butter",
        "The router reboots when the microwave runs",
    ):
        memory.store(text)
    return memory


@pytest.mark.claim("typed.result-relevance")
@pytest.mark.claim("typed.search-ranked")
@pytest.mark.claim("typed.search-full-text")
def test_an_exact_question_scores_high_and_nonsense_low(memory: Memory) -> None:
    exact = memory.search("where does the spare key hang")
    assert exact[0].record.text.startswith("The spare key")
    assert exact[0].score > 0.5
    assert [hit.score for hit in exact] == sorted((hit.score for hit in exact), reverse=True)
    nonsense = memory.search("xylophone quarks overthrow parliament")
    assert all(hit.score < 0.2 for hit in nonsense)


@pytest.mark.claim("notebook.semantic-entries")
def test_a_record_is_found_by_its_meaning(memory: Memory) -> None:
    assert memory.search("dental clinic address")[0].record.text.startswith("The dentist")


@pytest.mark.claim("journal.diary-semantic-search")
def test_a_diary_entry_is_found_by_its_meaning(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path, "journal", clock=SkippingClock(), environ={})
    memory.write_diary("We took the dog to the vet, and she slept all afternoon.")
    memory.write_diary("The boiler was repaired at last.")
    assert "vet" in memory.search("veterinary appointment for our puppy")[0].record.text


def test_a_hit_says_why_and_what_stands_beside_it(memory: Memory) -> None:
    memory.session = "talk"
    memory.store("Which cake shall I bake?")
    memory.store("The one with apricots")
    hit = memory.search("cake with apricots", explain=True)[0]
    assert [each.text for each in hit.beside] == ["Which cake shall I bake?"]
    assert dict(hit.why)["told"] > 0
    assert memory.search("cake with apricots")[0].why == ()


def test_what_is_found_by_its_neighbours_alone_tells_them(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path, "native", clock=SkippingClock(), environ={})
    memory.store("Which cake shall I bake for the fair?")
    memory.store("Hazelnuts")
    memory.store("Which cake did Ben bake for the fair last year?")
    memory.store("The bus was late")
    memory.store("The fair was far away")
    hits = memory.search("which cake shall I bake for the fair")
    beside = {hit.record.text: hit.beside for hit in hits}
    assert len(beside["Hazelnuts"]) == 2
    assert beside["Which cake shall I bake for the fair?"] == ()


def test_what_was_before_an_event_is_better_where_the_question_names_the_event(
    tmp_path: Path,
) -> None:
    clock = SkippingClock()
    memory = Memory.open(tmp_path, "native", clock=clock, environ={})
    texts = ("The rent was 900", "Today we moved to Bergen, finally", "The rent was 1200")
    for text in texts:
        memory.store(text)
        clock.sleep(40 * 86_400)
    for question, best in (
        ("What was the rent before the move to Bergen?", texts[0]),
        ("What was the rent after we moved to Bergen?", texts[2]),
    ):
        rents = [hit for hit in memory.search(question, explain=True) if "rent" in hit.record.text]
        assert rents[0].record.text == best
        assert dict(rents[0].why)["beside_event"] > 0
    unknown = memory.search("What was the rent before the eruption?", explain=True)
    assert not any("beside_event" in dict(hit.why) for hit in unknown)


def test_since_and_until_bound_what_is_found(memory: Memory) -> None:
    today = memory.clock.today().isoformat()
    assert memory.search("spare key", since=today)
    assert memory.search("spare key", until=today)
    assert memory.search("spare key", since="2999-01-01") == []
    assert memory.search("spare key", until="1999-01-01") == []


def test_why_not_names_what_kept_a_record_out(memory: Memory) -> None:
    old = memory.search("dark mode")[0].record
    key = memory.search("spare key")[0].record
    new = memory.supersede(old.id, "Prefers light mode in every editor")
    secret = memory.store("The code is in the hall", sensitivity="secret")
    assert memory.why_not(key.id, "spare key").found
    assert new.id in memory.why_not(old.id, "dark mode").reasons[0]
    assert "secret" in memory.why_not(secret.id, "code hall").reasons[0]
    assert "kind is note" in memory.why_not(key.id, "spare key", kinds=("fact",)).reasons[0]
    assert "It is of" in memory.why_not(key.id, "spare key", since="2999-01-01").reasons[0]
    below = memory.why_not(key.id, "plum cake butter in the hall", limit=1)
    assert below.rank > 1
    assert "ahead by" in below.reasons[0]


@pytest.mark.parametrize(
    "query",
    [
        "x" * 10_000,
        "word " * 2_000,
        "the of and",
        "🎉🎉",
        'NEAR("a" OR',
        "a* AND -b:c",
        "\x00\x1b[31m",
    ],
    ids=["long word", "many words", "stop words", "emoji", "fts", "operators", "control"],
)
def test_any_text_may_be_searched_for(memory: Memory, query: str) -> None:
    memory.store("A party 🎉🎉 with the neighbours")
    found = memory.search(query)
    assert all(0 <= hit.score <= 1 for hit in found)
    assert ("🎉" in query) <= any("🎉" in hit.record.text for hit in found)


def shown(question: str) -> list[str]:
    """What is shown of texts that are ranked in this order."""
    far = {"words": 0.0, "words_rank": -1, "cosine": 0.1}
    texts = [
        candidate(1, "garden"),
        candidate(2, "said beside it", session="s", **far),
        candidate(3, "stands right below it", before=1, **far),
        candidate(4, "stands somewhere", before=5, **far),
        candidate(6, "hedge"),
        candidate(7, "said far behind", session="s", **far),
    ]
    scene = Scene(texts, question, TODAY)
    return [scene.found[at].text for at in scene.shown(range(len(texts)))]


def test_a_question_shows_what_was_said_or_stands_beside_and_ranks_ahead_of_something_like_it() -> (
    None
):
    assert shown("what grows in the garden behind the house") == [
        "garden",
        "said beside it",
        "stands right below it",
        "hedge",
    ]


def test_a_search_for_a_word_shows_only_what_is_like_it() -> None:
    assert shown("garden") == ["garden", "hedge"]


def test_nothing_is_shown_where_nothing_is_like_the_question() -> None:
    far = {"words": 0.0, "words_rank": -1, "cosine": 0.1}
    scene = Scene(
        [candidate(1, "tea", session="s", **far)],
        "what grows in the garden behind the house",
        TODAY,
    )
    assert [*scene.shown([0])] == []
