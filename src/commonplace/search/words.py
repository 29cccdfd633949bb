"""The words of texts and questions: spellings and stems, terms for FTS5, words as FTS5 cuts them.

Scripts that put no space between words are cut into overlapping pairs of letters. Russian and
Arabic words have stems, by small rules without a dictionary. Both sides of a search are treated
alike.

`lexemes` and `cut_terms` are for an index that is not in SQLite: SQLite's own tokenizer cuts the
words, in a table in memory, so that two indexes of one vault find the same.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, pairwise
from threading import Lock
from typing import NamedTuple

from commonplace.model.records import BEHAVIORAL, Record
from commonplace.search.word_forms import KNOWN, apart, forms_of, is_name, latin_stem, without

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Korean
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Chinese
)
OPTIONAL = (
    "\u0300-\u036f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels
)
"""Marks that people write or leave out as they like."""
INDIC = "\u0900-\u0963\u0966-\u0dff"

WORD = f"(?:[^\\W{UNSPACED}]|[{OPTIONAL}{INDIC}])+"
# A date stays in one piece, which FTS5 then takes as a phrase: 11 and 15 alone say little.
DATE = "\\d{4}-\\d\\d(?:-\\d\\d)?(?!\\d)"
ASCII_TOKEN = re.compile(f"{DATE}|\\w+", re.ASCII)
HAN_STOPS = frozenset("的了是在我你他她它们什么怎哪谁吗呢吧啊和与就都也很还要会能可以有没不这那个")
"""Letters of Chinese that are in every other text."""
MOST = 32
FEW = 3
"""Words of a question that are also looked for written together: lawn mower as lawnmower."""
ENGLISH_MONTHS = """january february march april may june july august september october november
december"""
MONTHS = {f"{number:02}": name for number, name in enumerate(ENGLISH_MONTHS.split(), 1)}
ENGLISH_STOPS = """a about all also am an and any are as at be because been before being but by can
could d did do does doing don for from get got had has have having he her here him his how i if in
into is it its itself just ll m me more most my no nor not now of on once only or other our out
over own re s same she should so some such t than that the their them then there these they this
those through to too under until up us ve very was we were what when where which while who whom
whose why will with would you your"""
STOP = frozenset(ENGLISH_STOPS.split())
GERMAN_STOPS = """der die das den dem des ein eine einen einem einer eines und oder aber ist sind
war waren bin hat habe haben hatte wird werden wurde kann muss soll will nicht kein keine keinen mit
von vom zu zum zur im am an auf aus bei für nach über um unter vor als wie wo wann was wer wen wem
welche welcher welches welchen warum wofür ich mich mir mein meine meinen meinem meiner meines du
dich dir er sie es ihn ihm ihr wir uns unser unsere sich man auch noch nur schon sehr so dass wenn
ob bis per"""
FRENCH_STOPS = """le la les un une des du de et ou mais est sont était étais ai as avons ont avait
être avoir ne pas plus que qui quoi dont où quand comment pourquoi quel quelle quels quelles
combien je me moi mon ma mes tu te ton ta tes il elle on nous vous ils elles son sa ses notre nos
leur leurs lui se en au aux avec pour par sur sous dans sans chez ce cet cette ces fait faut doit
peut"""
SPANISH_STOPS = """el la los las un una unos unas y o pero es son era fue soy está están estar ser
hay he ha han había no más que qué quién quien cuál cual cuándo cuando cómo como dónde donde cuánto
cuánta cuántos por para con sin sobre en de del al a yo me mi mis tú te tu tus él ella se su sus
nos nuestro nuestra lo le les este esta estos estas eso esa debe tiene tengo"""
PORTUGUESE_STOPS = """o os as um uma uns umas e ou mas é são era foi sou está estão estar ser há não
mais que quem qual quando como onde quanto por para com sem sobre em no na nos nas de do da dos das
ao aos à eu me meu minha meus minhas tu te teu ele ela se seu sua seus suas nós nosso nossa lhe este
esta isso deve tem tenho"""
ITALIAN_STOPS = """il lo la i gli le un uno una e o ma è sono era sei siamo ho hai ha hanno aveva
essere avere non più che chi cosa quale quali quando come dove quanto perché per con senza su in di
del della dei delle al alla ai alle dal dalla nel nella io mi mio mia miei mie tu ti tuo lui lei si
suo sua noi ci nostro nostra questo questa deve può"""
FOREIGN_STOPS = tuple(
    frozenset(stops.split())
    for stops in (GERMAN_STOPS, FRENCH_STOPS, SPANISH_STOPS, PORTUGUESE_STOPS, ITALIAN_STOPS)
)
ALL_FOREIGN_STOPS = frozenset().union(*FOREIGN_STOPS)
BEYOND_LATIN = "\u0250"
"""The first letter after the Latin ones."""
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
"""How FTS5 cuts a text into words."""
K1, B = 1.2, 0.75
LEAST = 1e-6
"""FTS5's constants for BM25, and the least that it has a word count: one that most texts have
counts next to nothing, but never against a text.
"""

SHORTEST = 3
"""Letters that are left at least."""
RUSSIAN_ENDINGS = """иями ями ами ией иям ием иях ость ости остью
ого его ому ему ыми ими ая яя ое ее ые ие ый ий ой ей ую юю ых их ым им ом ем ою ею
ай ае аю ея еем ия ии ию ью ья ах ях ам ям ов ев а я о е у ю ы и ь й
ает ают аем аешь аете яет яют еет еют
овать евать ывать ивать овал овала уют ует ешь ете ишь ите ет ют ут ит ат ят
ила ыла ела ала яла ило ело ало яло или ыли ели али яли ил ыл ел ал ял
ить ыть ать ять еть нуть ла ло ли ть"""
ADJECTIVES = "ическ енн онн ск н"
"""What makes an adjective of a noun, once its ending is off."""
ARABIC_ALIKE = str.maketrans("أإآٱىةؤئ", "اااايهوي")
"""Letters that people write one for the other."""
ARTICLES = ("وبال", "وال", "فال", "بال", "كال", "ولل", "لل", "ال")
JOINED = "وبلفكس"
"""Letters that are written onto the word that follows, and may also begin one."""
ARABIC_ENDINGS = """تهما هما كما تها ته تي ات ون ين ان ها هم هن كم نا وا يه تا
ه ي ا ت"""


# Bare words have lost the mark of й. Endings are tried from the longest on.
RUSSIAN = sorted(RUSSIAN_ENDINGS.replace("й", "и").split(), key=len, reverse=True)
ARABIC = sorted(ARABIC_ENDINGS.split(), key=len, reverse=True)
ADJECTIVAL = sorted(ADJECTIVES.split(), key=len, reverse=True)

LONGEST = 255
"""Letters of a word that count: PostgreSQL takes no word of more than 2,046 bytes."""
LAST_PLACE = 16_383
"""The last place that PostgreSQL can note; words that come after it are all there."""
ROOM = 800_000
"""Bytes that the words of one text may take, for the same reason; those after them are left out."""
MOST_CUT = 4096
SLOT = 16
"""What a word takes beside its letters, at most, the first time that it comes."""

MAKE = f"CREATE VIRTUAL TABLE texts USING fts5(text, words, content='', tokenize=\"{TOKENIZER}\")"
MAKE_WORDS = "CREATE VIRTUAL TABLE lexemes USING fts5vocab(texts, 'instance')"
ADD = "INSERT INTO texts(rowid, text, words) VALUES(?, ?, ?)"
READ = "SELECT doc, term, col = 'words', offset FROM lexemes"
EMPTY = "INSERT INTO texts(texts) VALUES('delete-all')"


class Lexemes(NamedTuple):
    """The words of a text with their places, which count from 1, and how many they are in all."""

    places: dict[str, list[int]]
    length: int


class Term(NamedTuple):
    """Something to look for: words side by side, the last perhaps only the beginning of one."""

    words: tuple[str, ...]
    is_beginning: bool


def indexed(record: Record) -> str:
    """What is searched beside the text: tags, who, when, an agent's words for it, other spellings
    of what is not Latin.
    """
    day = record.timestamp[:10]
    said = (*record.tags, record.username, day, MONTHS.get(day[5:7], ""), *record.found_by)
    beside = " ".join(said)
    if record.kind in BEHAVIORAL:
        beside += " " + record.kind
    words = tokens(record.text)
    forms = dict.fromkeys(chain(chain.from_iterable(map(_forms, words)), _latin_stems(words)))
    if record.text.isascii() and beside.isascii():
        return " ".join((beside, *forms))
    every = f"{record.text} {beside}"
    return " ".join((beside, *forms, *_spellings(every), *_ideographs(every)))


def record_terms(question: str) -> list[str]:
    """The terms of a question to records, in the forms that `indexed` puts beside a text."""
    asked = terms(_token(question).sub(lambda found: _in_forms(found.group()), question))
    letters = () if question.isascii() else _ideographs(question)
    words = words_of(question)
    joined = (
        map("".join, pairwise(words)) if len(words) <= FEW and all(map(str.isalpha, words)) else ()
    )
    names = (each for word in tokens(question) if is_name(word) for each in apart(word))
    more = (
        *islice(names, MOST),
        *joined,
        *islice(_latin_stems(tokens(question)), MOST),
        *islice(letters, MOST),
    )
    return list(dict.fromkeys((*asked, *(f'"{each}"' for each in more))))


def _latin_stems(words: Sequence[str]) -> Iterator[str]:
    """Stems by the endings of other languages, unless more stop words are English."""
    said = {*map(str.lower, words)}
    english = len(said & STOP)
    # Most texts are told by this alone, which takes a third of the time.
    if english > len(said & ALL_FOREIGN_STOPS):
        return
    stops = _foreign_stops(said)
    if english > len(said & stops):
        return
    for word in words:
        if word.isalpha() and max(word) < BEYOND_LATIN and word.lower() not in stops:
            stem = latin_stem(word)
            yield from (stem,) if stem != word.lower() else ()


def _ideographs(text: str) -> dict[str, None]:
    """The ideographs that tell something: a word may share one with another that means the same."""
    return dict.fromkeys(
        letter for letter in _patterns().ideograph.findall(text) if letter not in HAN_STOPS
    )


def _in_forms(word: str) -> str:
    return word if is_name(word) else " ".join(_forms(word)) or word


@lru_cache(KNOWN)
def _forms(word: str) -> tuple[str, ...]:
    return forms_of(word) if word.isascii() and word.lower() not in STOP else ()


def spellings(text: str) -> str:
    """Other spellings of what is not Latin, to be searched beside a text."""
    return "" if text.isascii() else " ".join(_spellings(text))


def tokens(text: str) -> list[str]:
    """The words of a text as they are written; runs of unspaced script whole."""
    return _token(text).findall(text)


def _token(text: str) -> re.Pattern[str]:
    return ASCII_TOKEN if text.isascii() else _patterns().token


def stops_of(found: Iterable[str]) -> frozenset[str]:
    """The stop words of the language that words are of: of the one that has most of them.

    English, unless another has two of them at least and more than English has.
    """
    said = {word.lower() for word in found}
    foreign = _foreign_stops(said)
    return foreign if len(said & foreign) > max(len(said & STOP), 1) else STOP


def _foreign_stops(said: set[str]) -> frozenset[str]:
    """The stop words of the other language that has most of these."""
    return max(FOREIGN_STOPS, key=lambda stops: len(said & stops))


def words_of(text: str) -> list[str]:
    """The words of a text that tell something, in small letters; runs of unspaced script whole."""
    return [word for word in map(str.lower, tokens(text)) if word not in STOP]


def match(text: str) -> str:
    """The FTS5 expression for any text: quoted words joined by OR; empty when it has no words."""
    return any_of(terms(text))


def any_of(found: Sequence[str]) -> str:
    """The FTS5 expression for any of these terms."""
    return " OR ".join(found)


def terms(text: str) -> list[str]:
    """The words of any text as FTS5 takes them, each quoted."""
    every = tokens(text)
    told = [token for token in every if token.lower() not in STOP] or every
    return list(dict.fromkeys(term for token in told for term in _terms(token)))[:MOST]


def _terms(token: str) -> list[str]:
    if token.isascii():
        return [f'"{token}"']
    if not _patterns().unspaced.match(token):
        bare = _bare(token)
        return [f'"{each}"' for each in (bare, *_stems(bare))]
    if len(token) == 1:
        return [f'"{token}"*']
    return [f'"{token[at : at + 2]}"' for at in range(len(token) - 1)]


def _spellings(text: str) -> Iterator[str]:
    for token in _patterns().token.findall(text):
        if _patterns().unspaced.match(token):
            # The last letter stands alone, so that every letter is the start of something.
            yield from (token[at : at + 2] for at in range(len(token)))
        elif not token.isascii():
            bare = _bare(token)
            yield from (bare,) if bare != token else ()
            yield from _stems(bare)


def _bare(word: str) -> str:
    """The word without marks that are optional; FTS5 takes the accents off Latin letters itself."""
    if word.isascii() or not _patterns().beyond_latin.search(word):
        return word
    from unicodedata import normalize

    return normalize("NFC", _patterns().optional.sub("", normalize("NFD", word)))


class _Patterns(NamedTuple):
    token: re.Pattern[str]
    unspaced: re.Pattern[str]
    ideograph: re.Pattern[str]
    optional: re.Pattern[str]
    beyond_latin: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Made when they are first needed: sets of so many letters take milliseconds to compile."""
    return _Patterns(
        token=re.compile(f"[{UNSPACED}]+|{DATE}|{WORD}"),
        unspaced=re.compile(f"[{UNSPACED}]"),
        ideograph=re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
        optional=re.compile(f"[{OPTIONAL}]"),
        beyond_latin=re.compile(f"[^\x00-\u024f\u1e00-\u1eff{OPTIONAL}]"),
    )


def _stems(word: str) -> tuple[str, ...]:
    """The stems of a word that are not the word itself; none for other scripts."""
    first = word[:1]
    if "\u0400" <= first <= "\u052f":
        return _russian(word.lower())
    if "\u0620" <= first <= "\u06d3":
        return _arabic(word)
    return ()


@lru_cache(maxsize=8192)
def _russian(word: str) -> tuple[str, ...]:
    stem = without(word.removesuffix("ся").removesuffix("сь"), RUSSIAN, SHORTEST)
    noun = without(stem, ADJECTIVAL, SHORTEST)
    return tuple(dict.fromkeys(each for each in (stem, noun) if each != word))


@lru_cache(maxsize=8192)
def _arabic(word: str) -> tuple[str, ...]:
    plain = word.translate(ARABIC_ALIKE)
    bare = next((plain.removeprefix(it) for it in ARTICLES if _begins(plain, it)), plain)
    found = [plain, *_roots(bare)]
    if bare is plain and plain[0] in JOINED and len(plain) > SHORTEST:
        found += _roots(plain[1:])
    return tuple(dict.fromkeys(each for each in found if each != word))


def _begins(word: str, article: str) -> bool:
    return word.startswith(article) and len(word) - len(article) >= SHORTEST - 1


def _roots(word: str) -> Iterator[str]:
    yield word
    yield without(word, ARABIC, SHORTEST)


def lexemes(texts: Iterable[tuple[str, str]]) -> list[Lexemes]:
    """The words of each text, and of what is searched beside it, which stands well after it."""
    return [_joined(each) for each in _tokens(list(texts))]


def cut_terms(text: str, of: Callable[[str], list[str]] = terms) -> tuple[Term, ...]:
    """What to look for, any of it, when a text is asked for."""
    return cut_terms_of([text], of)[0]


def cut_terms_of(
    texts: Sequence[str], of: Callable[[str], list[str]] = terms
) -> list[tuple[Term, ...]]:
    """The same for each of several texts."""
    told = [of(text) for text in texts]
    every = list(dict.fromkeys(term for each in told for term in each))
    cut = dict(zip(every, _cut_into_words(every)))
    return [tuple(cut[term] for term in each if cut[term].words) for each in told]


def _cut_into_words(found: Sequence[str]) -> list[Term]:
    """Terms as FTS5 takes them, each as what it then looks for."""
    fresh = [term for term in found if term not in _cut]
    if len(_cut) + len(fresh) > MOST_CUT:
        _cut.clear()
        fresh = list(found)
    cut = _tokens([(term.strip('"*'), "") for term in fresh]) if fresh else ()
    for term, found_words in zip(fresh, cut):
        told = tuple(word for _, _, word in sorted(found_words) if word)
        _cut[term] = Term(told, term.endswith("*"))
    return [_cut[term] for term in found]


_cut: dict[str, Term] = {}
"""Terms that were asked for before: whoever asks for words one by one asks for them again."""

Token = tuple[int, int, str]
"""Whether it is beside the text, its place there, and the word."""


def _joined(cut: Sequence[Token]) -> Lexemes:
    # No phrase reaches from the text into what is beside it.
    after = 2 + max((at for beside, at, _ in cut if not beside), default=-1)
    places: dict[str, list[int]] = {}
    room = ROOM
    for beside, at, word in sorted(token for token in cut if token[2]):
        found = places.get(word)
        if found is None:
            room -= len(word.encode()) + SLOT
            found = places.setdefault(word, []) if room >= 0 else []
        found.append(min(1 + at + (after if beside else 0), LAST_PLACE))
    return Lexemes(places, len(cut))


def _tokens(texts: Sequence[tuple[str, str]]) -> list[list[Token]]:
    found: list[list[Token]] = [[] for _ in texts]
    db, lock = _tokenizer()
    with lock:
        db.execute("BEGIN")
        db.executemany(ADD, [(at, *each) for at, each in enumerate(texts)])
        rows = db.execute(READ).fetchall()
        db.execute(EMPTY)
        db.execute("COMMIT")
    for number, word, beside, at in rows:
        # Accents that stand alone are a word without letters.
        found[number].append((beside, at, (word or "")[:LONGEST]))
    return found


@cache
def _tokenizer() -> tuple[sqlite3.Connection, Lock]:
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    # FTS5 cuts a word of 32 kB short, in the middle of a letter if need be.
    db.text_factory = lambda data: data.decode("utf-8", "ignore")
    db.execute(MAKE)
    db.execute(MAKE_WORDS)
    return db, Lock()
