"""Statements that find: by words with FTS5's BM25, by vectors, and both at once with neighbours.

The words are FTS5's own. Each begins with a tag of its profile, so that the index of words has next
to nothing of other profiles to go through. BM25 is computed from the rows that have one of the
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from commonplace.search.filters import Wording, clean, fits
from commonplace.search.index import BEST, NEAREST, STEEP, Asked, Candidate, Query
from commonplace.search.rows import Row
from commonplace.search.sqlite.candidates import LEADING, UNKNOWN, told_beside
from commonplace.search.words import K1, LEAST, B, Lexemes, Term, cut_terms, record_terms

ESCAPE, NUL = "\x1a", "\0"

# Asked of each record by itself: as a join, all that supersede anything could be looked through.
# Where nothing supersedes anything, which is asked once, it is asked of none.
SUPERSEDES = "s.profile = %(profile)s and s.supersedes <> '' and length(s.supersedes) <= 100"
HAS_SUCCESSOR = f"""exists(select 1 from record s where {SUPERSEDES})
    and exists(select 1 from record s
        where {SUPERSEDES} and s.supersedes = r.id and s.lead and s.id <> r.id offset 0)"""
SUPERSEDED = f"(r.replaced_by <> '' or {HAS_SUCCESSOR})"
REPLACED_BY_THEN = f"""(r.replaced_by <> '' or exists(select 1 from record s
    where {SUPERSEDES} and s.supersedes = r.id and s.lead and s.id <> r.id
    and case when s.valid_from <> '' then s.valid_from else s.timestamp end <= ?))"""
# Of a candidate, which does not carry all of its record along.
IS_SUPERSEDED = f"""({HAS_SUCCESSOR} or exists(select 1 from record m
    where m.profile = %(profile)s and m.key = r.key and m.replaced_by <> ''))"""
STANDS_IN = """exists(select 1 from record v
    join place p on p.profile = v.profile and p.key = v.key
    where v.profile = %(profile)s and v.id = r.id and p.document = any(?))"""
AMONG_THOSE_IN = """r.id in (select v.id from place p
    join record v on v.profile = p.profile and v.key = p.key
    where p.profile = %(profile)s and p.document = any(?))"""

# Sums of the same numbers in another order differ in their last digits.
DIGITS = "1e12::float8"

SEEN = ("key", "id", "kind", "text", "timestamp", "session", "username", "channel", "origin")
"""What a candidate shows of its record. It is carried along: to look it up again costs more."""
OF_RECORD = ", ".join(f"r.{name}" for name in SEEN)
OF_MATCH = ", ".join(f"m.{name}" for name in SEEN)

# Those of a record's words that are asked for; the beginning of a word cannot be picked out so.
FOUND_WORDS = """found as (
    select key, length, fits, (word).lexeme, (word).positions as places from (
        select key, length, fits,
            unnest(ts_filter(setweight(words, 'A', %(lexemes)s::text[]), '{a}')) as word
        from matched) m),"""
OF_WORDS = """select f.key, f.length, f.fits, t.term, cardinality(f.places) as times
    from found f join unnest(%(singles)s::text[], %(single_terms)s::int[]) t(lexeme, term)
        on f.lexeme = t.lexeme"""
OF_PHRASES = """select key, length, fits, term, count(*)::int from (
        select f.key, f.length, f.fits, t.term, place - t.at as start
        from found f
        join unnest(%(parts)s::text[], %(part_terms)s::int[], %(part_at)s::int[]) t(
            lexeme, term, at) on f.lexeme = t.lexeme
        cross join lateral unnest(f.places) place
        group by f.key, f.length, f.fits, t.term, place - t.at
        having count(*) = (%(part_sizes)s::int[])[t.term + 1]) phrase
    group by key, length, fits, term"""
OF_BEGINNINGS = """select m.key, m.length, m.fits, t.term, sum(cardinality(f.places))::int
    from matched m cross join lateral unnest(m.words) f(lexeme, places)
    join unnest(%(beginnings)s::text[], %(beginning_terms)s::int[]) t(lexeme, term)
        on starts_with(f.lexeme, t.lexeme)
    group by m.key, m.length, m.fits, t.term"""
BY_WORDS = f"""
matched as materialized (
    select {OF_RECORD}, r.length, r.words, ({{fits}}) as fits
    from record r where r.profile = %(profile)s and r.words @@ %(query)s::tsquery),
{{found}}
times(key, length, fits, term, times) as materialized ({{times}}),
weights as materialized (
    select t.term, greatest(ln((l.records - count(*) + 0.5)::float8 / (count(*) + 0.5)), {LEAST})
            * {K1 + 1}::float8 as worth,
        l.lexemes::float8 / l.records as average
    from times t cross join level l where l.profile = %(profile)s
    group by t.term, l.records, l.lexemes),
scored as (
    select t.key, round({DIGITS} * sum(w.worth * t.times
        / (t.times + {K1} * ({1 - B} + {B} * t.length / w.average)))) / {DIGITS} as score
    from times t join weights w on w.term = t.term
    where t.fits group by t.key),
by_words as materialized (
    select {OF_MATCH}, s.score,
        row_number() over (order by s.score desc, m.timestamp desc, m.id) - 1 as rank
    from scored s join matched m on m.key = s.key
    order by s.score desc, m.timestamp desc, m.id limit {{best}})"""

MODEL = """(select number from model
    where profile = %(profile)s and name = %(model)s and dim = %(dim)s)"""
MORE = 20
DEEP = 4
"""How many times as many as are wanted a graph gives: without a bound it would not be followed."""
# The nearest are looked at in their order until there are enough that fit, with some more that are
# level with the last: one at a time, since a join could look at all of them first.
SCANNED = f"""select e.key, -(e.vector <#> %(vector)s::halfvec) / (e.norm * %(norm)s) as cosine
        from embedding e
        where e.profile = %(profile)s and e.model = {MODEL} and e.norm > 0"""
EACH = f"{SCANNED} order by cosine desc offset 0"
IN_GRAPH = f"""{SCANNED} and e.graph = {{dim}}
        order by e.vector::halfvec({{dim}}) <=> %(vector)s::halfvec({{dim}}) limit {{deep}}"""
# A graph gives them only in about their order, and is followed no farther than it has to be.
ENOUGH = "order by e.cosine desc fetch first {nearest} rows with ties"
BY_VECTORS = f"""
near as (
    select * from (
        select r.*, e.cosine from ({{scanned}}) e
        cross join lateral (
            select {OF_RECORD} from record r
            where r.profile = %(profile)s and r.key = e.key and {{fits}} limit 1) r
        {{enough}}) n
    limit {{nearest}} + {MORE}),
by_vectors as materialized (
    select *, row_number() over (order by cosine desc, timestamp desc, id) - 1 as rank
    from near order by cosine desc, timestamp desc, id limit {{nearest}})"""
NONE = f"""(select {OF_RECORD}, 0.0::float8 as {{score}}, 0::bigint as rank
    from record r where r.profile = %(profile)s and false)"""
NO_WORDS = f"by_words as {NONE.format(score='score')}"
NO_VECTORS = f"by_vectors as {NONE.format(score='cosine')}"

# In a session the order of time; what is in none has the lines above and below it, in its daily
# log rather than in MEMORY.md.
IN_SESSION = """coalesce((select n.key from record n
        where n.profile = %(profile)s and n.session = r.session and n.session <> '' and n.lead
            and length(n.session) <= 200 and length(n.timestamp) <= 40
            and (n.timestamp, n.key) {than} (r.timestamp, r.key)
        order by n.timestamp {order}, n.key {order} limit 1), 0)"""
IN_DOCUMENT = """coalesce((select n.key from place n
        where n.profile = %(profile)s and n.document = p.document and n.line {than} p.line
        order by n.line {order} limit 1), 0)"""
LAST_DOCUMENT = """select p.document, min(p.line) as line from place p
    where p.profile = %(profile)s and p.key = r.key
    group by p.document order by p.document desc limit 1"""
BEFORE, AFTER = {"than": "<", "order": "desc"}, {"than": ">", "order": "asc"}
LEADS = f"""(r.words_rank between 0 and {LEADING - 1}
        or r.cosine_rank between 0 and {LEADING - 1})"""
SHARE = f"case when {{rank}} >= 0 then {STEEP}::float8 / ({STEEP} + {{rank}}) else 0 end"
AHEAD = " + ".join(SHARE.format(rank=rank) for rank in ("words_rank", "cosine_rank"))
# Each sort by itself: nearly all are in a session, and would pay for the other way as well.
NEIGHBOURS = f"""
best as materialized (
    select {", ".join(f"coalesce(w.{name}, v.{name}) as {name}" for name in SEEN)},
        coalesce(w.score, 0.0) as score, coalesce(w.rank, -1) as words_rank,
        coalesce(v.cosine, 0.0) as cosine, coalesce(v.rank, -1) as cosine_rank
    from by_words w full join by_vectors v on v.key = w.key),
beside as materialized (
    select r.key, {IN_SESSION.format(**BEFORE)} as before, {IN_SESSION.format(**AFTER)} as after
    from best r where r.session <> '' and {LEADS}
    union all
    select r.key, {IN_DOCUMENT.format(**BEFORE)}, {IN_DOCUMENT.format(**AFTER)}
    from best r left join lateral ({LAST_DOCUMENT}) p on true
    where r.session = '' and {LEADS}),
ahead as (
    select key from best
    order by {AHEAD} desc, words_rank < 0, words_rank limit {LEADING})"""
# Nothing is looked for, and nothing found, when the index has moved since it was looked at last.
STILL_LEVEL = """where exists(select 1
    from profile p join level l on l.profile = p.profile join model m on m.profile = l.profile
    where p.profile = %(profile)s and l.mark = p.journal and l.position = p.ended
        and l.position = %(position)s and m.name = %(of_model)s and m.dim = %(of_dim)s
        and m.upto = l.last_key
        and p.state in ('', 'read-only') and p.renamed in ('', %(tenant)s))"""
# What is only beside others is told by its keys, not joined: the server cannot know how few they
# are, and would compare each with each.
CANDIDATES = f"""with {{words}}, {{vectors}}, {NEIGHBOURS}
select {OF_RECORD}, {{superseded}}, case when r.session <> '' then r.session else (
        select max(p.document) from place p where p.profile = %(profile)s and p.key = r.key) end,
    r.before, r.after, r.score, r.words_rank, r.cosine, r.cosine_rank
from (
    select b.*, coalesce(n.before, {UNKNOWN}) as before, coalesce(n.after, {UNKNOWN}) as after
    from best b left join beside n on n.key = b.key
    union all
    select {OF_RECORD}, 0.0, -1, 0.0, -1, {UNKNOWN}, {UNKNOWN} from record r
    where r.profile = %(profile)s and r.key = any(array(
        select unnest(array[n.before, n.after]) from ahead a join beside n on n.key = a.key
        except select key from best))
        and {{fits}}) r {{level}}"""


class Clause(NamedTuple):
    """A part of a statement, and the values of its names."""

    text: str
    values: dict[str, Any]


NOTHING = Clause("", {})


def kept(text: str) -> str:
    """A text as PostgreSQL takes it, which knows no NUL."""
    text = clean(text)
    if NUL not in text and ESCAPE not in text:
        return text
    return text.replace(ESCAPE, ESCAPE + "1").replace(NUL, ESCAPE + "0")


def unkept(text: str) -> str:
    if ESCAPE not in text:
        return text
    return text.replace(ESCAPE + "0", NUL).replace(ESCAPE + "1", ESCAPE)


WORDING = Wording(
    superseded=SUPERSEDED,
    replaced_by_then=REPLACED_BY_THEN,
    among="({} = any(?))",
    until="r.timestamp <= ? || chr(1114111) and r.timestamp <> ''",
    in_utc="right(r.timestamp, 1) = 'Z'",
    has="strpos({}, ?) > 0",
    newline="chr(10)",
    stands_in=STANDS_IN,
    among_those_in=AMONG_THOSE_IN,
    text=kept,
    texts=lambda texts: [kept(each) for each in texts],
)


def fitting(query: Query) -> Clause:
    """The condition on a record, apart from the query's text."""
    condition, arguments = fits(query, WORDING)
    first, *rest = condition.split("?")
    named = (f"%(fit{at})s{part}" for at, part in enumerate(rest))
    return Clause(
        "".join((first, *named)), {f"fit{at}": value for at, value in enumerate(arguments)}
    )


def tag_of(profile: str) -> str:
    """What comes before each of a profile's words; another profile may have the same."""
    return profile[-6:]


def vector_of_words(found: Lexemes, tag: str) -> str:
    """Words with their places, as a tsvector is written."""
    return " ".join(
        f"'{tag}{word}':{','.join(map(str, places))}" for word, places in found.places.items()
    )


def query_of(asked: Sequence[Term], tag: str) -> str:
    """Any of these, as a tsquery is written."""
    return " | ".join(
        "(" + " <-> ".join(f"'{tag}{word}'" for word in term.words) + ")"
        if len(term.words) > 1
        else f"'{tag}{term.words[0]}'{':*' if term.is_beginning else ''}"
        for term in asked
    )


def array_of(values: Iterable[object]) -> str:
    """Words or numbers as an array is written, which costs a third of having it written: in words
    are letters and digits alone.
    """
    return f"{{{','.join(map(str, values))}}}"


def having_words(text: str, tag: str) -> Clause | None:
    """The condition that a record has one of the words of a text; None when there are none."""
    asked = cut_terms(text, record_terms)
    if not asked:
        return None
    return Clause("r.words @@ %(query)s::tsquery", {"query": query_of(asked, tag)})


def by_words(query: Query, condition: Clause, tag: str, *, best: int) -> Clause | None:
    """The best by BM25 as `by_words`; None when the query has no words.

    How many are wanted is written out, as it is for the nearest: the server plans for so many.
    """
    asked = cut_terms(query.text, record_terms)
    if not asked:
        return None
    # Those with several words can't also be the beginning of one: only a single letter is that.
    beginnings = {at: term for at, term in enumerate(asked) if term.is_beginning}
    phrases = {at: term for at, term in enumerate(asked) if len(term.words) > 1}
    singles = [at for at in range(len(asked)) if at not in beginnings and at not in phrases]
    parts = [(tag + word, at, n) for at, it in phrases.items() for n, word in enumerate(it.words)]
    times = [
        part
        for part, there in zip(
            (OF_WORDS, OF_PHRASES, OF_BEGINNINGS), (singles, phrases, beginnings)
        )
        if there
    ]
    found = FOUND_WORDS if singles or phrases else ""
    return Clause(
        _filled(
            BY_WORDS,
            fits=condition.text,
            found=found,
            times=" union all ".join(times),
            best=str(best),
        ),
        {
            "query": query_of(asked, tag),
            "lexemes": array_of(tag + word for term in asked for word in term.words),
            "singles": array_of(tag + asked[at].words[0] for at in singles),
            "single_terms": array_of(singles),
            "parts": array_of(word for word, _, _ in parts),
            "part_terms": array_of(at for _, at, _ in parts),
            "part_at": array_of(n for _, _, n in parts),
            "part_sizes": array_of(len(term.words) for term in asked),
            "beginnings": array_of(tag + term.words[0] for term in beginnings.values()),
            "beginning_terms": array_of(beginnings),
        },
    )


@lru_cache(maxsize=512)
def _filled(statement: str, **parts: str) -> str:
    """A statement with its parts in it: the same few are said again and again."""
    return statement.format(**parts)


def by_vectors(asked: Asked, condition: Clause, *, nearest: int, in_graph: bool) -> Clause:
    """The nearest that fit as `by_vectors`: by comparing each, or by following a graph."""
    values = {
        "vector": vector_text(asked.vector),
        "norm": asked.norm,
        "model": asked.model,
        "dim": len(asked.vector),
    }
    dim, deep = len(asked.vector), DEEP * (nearest + MORE)
    scanned = IN_GRAPH.format(dim=dim, deep=deep) if in_graph else EACH
    enough = "" if in_graph else ENOUGH.format(nearest=nearest)
    text = _filled(
        BY_VECTORS, fits=condition.text, scanned=scanned, enough=enough, nearest=str(nearest)
    )
    return Clause(text, values)


def vector_text(vector: bytes) -> str:
    """A vector of signed bytes as pgvector writes it."""
    return str(memoryview(vector).cast("b").tolist())


def candidates(
    query: Query,
    asked: Asked | None,
    tag: str,
    *,
    in_graph: bool = False,
    level: Clause = NOTHING,
) -> Clause | None:
    """The statement for all candidates; None when there is neither a word nor a vector."""
    condition = fitting(query)
    words = by_words(query, condition, tag, best=BEST)
    vectors = None
    if asked and asked.norm:
        vectors = by_vectors(asked, condition, nearest=NEAREST, in_graph=in_graph)
    if words is None and vectors is None:
        return None
    shows_replaced = query.include_superseded and not query.stood_at
    text = _filled(
        CANDIDATES,
        words=words.text if words else NO_WORDS,
        vectors=vectors.text if vectors else NO_VECTORS,
        superseded=IS_SUPERSEDED if shows_replaced else "false",
        fits=condition.text,
        level=level.text,
    )
    found = (words.values if words else {}) | (vectors.values if vectors else {})
    return Clause(text, condition.values | found | level.values)


def still_level(model: str, dim: int, position: int) -> Clause:
    """The condition that the index is level here still, and every text has its vector."""
    # Written out: a small number is sent as another type than a large one, and for each type the
    # statement would be prepared anew.
    values = {"position": str(position), "of_model": kept(model), "of_dim": dim}
    return Clause(STILL_LEVEL, values)


def made(rows: Sequence[Row]) -> list[Candidate]:
    """The candidates that the statement answers with."""
    if ESCAPE in "".join([row[3] for row in rows]):
        rows = [(*row[:3], unkept(row[3]), *row[4:]) for row in rows]
    before, after = told_beside([(row[0], row[11], row[12]) for row in rows if row[11] >= 0])
    tuple_of = tuple.__new__
    return [
        tuple_of(
            Candidate,
            row
            if row[11] >= 0
            else (
                *row[:11],
                before.get(row[0], UNKNOWN),
                after.get(row[0], UNKNOWN),
                *row[13:],
            ),
        )
        for row in rows
    ]
