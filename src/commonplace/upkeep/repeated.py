"""What a user says again: corrections and questions in typed sentences, and which of them are one.

Rules for English, German, French, Spanish, Portuguese and Italian that prefer silence to a false
alarm. It knows no vault: sentences go in, groups come out, the same for the same sentences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from msgspec import Struct

from commonplace.search.question import ASKING
from commonplace.search.words import FOREIGN_STOPS, STOP
from commonplace.trust.evidence import LONGEST, SHORTEST, Alike, same_stem, telling
from commonplace.trust.sentences import WORD, sentences, word_set

TIMES = 3
"""How often something must be there, each in another session or on another day."""
LIKE, LIKE_QUESTION = 0.6, 0.75
"""The share of their words that two sentences must have in common to say the same."""
HALF_LIKE, SHORT = 0.3, 10
"""From here on one word that is near in meaning is counted as well, of so many in both."""
NEAR = 0.55
"""The likeness from which one word stands for another."""
MOST_MEANINGS, MOST_COMPARED = 8, 20
"""Different wordings of a group that are compared, and groups that a sentence is compared with."""
LATE = 30
"""Words of a sentence that are looked at: nobody corrects in more."""

SCOLDING = r"""how (?:often|many times)|i(?:'ve| have)? (?:already |just )?(?:said|told)
|as i said|again:
|wie oft|zum \w+ mal|(?:hab|habe|hatte) (?:ich )?(?:dir )?(?:doch )?(?:schon )?(?:\w+ )?gesagt
|ich (?:hab|habe|sagte)\b.*\bgesagt|combien de fois|j'ai (?:déjà )?dit|je t'ai (?:déjà )?dit
|cuántas veces|ya (?:te )?(?:lo )?(?:dije|he dicho)|quantas vezes|já (?:te )?(?:disse|falei)
|quante volte|(?:ti )?ho (?:già )?detto"""
STANDING = r"""always|never|from now on|every time|whenever|make sure|going forward|in future
|immer|niemals|nie|ab (?:jetzt|sofort)|künftig|jedes mal
|toujours|jamais|désormais|dorénavant|à chaque fois|siempre|nunca|a partir de ahora|cada vez
|sempre|jamais|a partir de agora|toda vez|mai|d'ora in poi|ogni volta"""
LIKING = r"""prefer\w*|i (?:hate|like|love|want)|i'd rather|ich (?:hasse|mag|möchte|will)|lieber
|bevorzug\w*|je (?:préfère|déteste|veux)|prefiero|odio|quiero|no me gusta|prefiro|odeio|quero
|preferisco|voglio"""
CORRECTING = r"""no[,.:;!]|^no (?!(?:idea|need|one|problem|thanks|way|worries)\b)\w+
|nope|not|don'?t|do not|stop|no more|avoid|instead|rather than|wrong
|nein|nicht|kein\w*|statt\w*|falsch|vermeide\w*|hör auf|lass das
|non[,.:;!]|ne \w+ pas|n'\w+ pas|pas|plutôt|évite\w*|arrête\w*
|en vez|en lugar|evita\w*|deja de|não|em vez|evit\w*|pare de|non|invece|evita|smetti\w*"""
SPANISH_NO = r"no (?:uses|hagas|pongas|escribas|quiero|borres|cambies|me)"
AGAINST = r"""not|n't|dont|never|no longer|no more|stop|avoid|without|instead of|rather than|no
|nicht|kein\w*|nie|niemals|statt|anstatt|ohne|vermeide\w*
|pas|jamais|sans|évite\w*|au lieu|arrête\w*|nunca|sin|evita\w*|en vez|en lugar|deja
|não|sem|em vez|pare|non|mai|senza|invece di|smetti\w*"""
CLAUSES = r"""[,;:.!?…()]+\s*|\s[—–-]\s|\b(?:and|but|und|sondern|aber|mais|pero|sino|mas|ma)\b
|(?=\b(?:instead of|rather than|not|statt|anstatt|au lieu|en vez|en lugar|em vez|invece di)\b)"""
OVER = re.compile(r"(?<=prefer)(.*?)\bover\b", re.I | re.S)
LEADING_NO = re.compile(r"no\s+(?=(?:use|i|it|that|you|we|please|just|do)\b)", re.I)

FILLING = """how often many times time again already tell tells told keep repeat repeating yet still
once more same now just really actually ok okay hey wrong nope stop put let
bitte favor plaît plait svp
wie oft noch nochmal mal schon gesagt sagte hab habe wieder jetzt einfach falsch nimm nehmen nimmst
benutz benutze benutzen nutz nutze nutzen verwende verwenden mach mache machen
utilise utiliser utilisez mets mettre fois déjà dit encore
usa usar uses utiliza pon poner veces ya dije otra vez
use usar utilize vezes já disse falei volte già detto usare utilizzare di"""
"""Words around a correction that say nothing of its subject."""
POINTING = """this that these those it its you your yours now today here just there above below
he she him her they them das dies diese dieser dieses es er du dein deine jetzt heute hier da ihr
ça cela ce cette ces tu ton ta te maintenant ici esto eso este esta ese esa tú tu ahora aquí
isto isso este esta você agora aqui questo questa quello tu ora qui adesso"""
"""Words that point at the moment: who uses them asks of what is there, and not of what is known."""
BIDDING = r"""(?:can|could|would|will|should|shall|may) (?:you|we|i)\b
|(?:kannst|könntest|würdest) du
|(?:können|sollen|wollen) wir|soll ich|peux-tu|pouvez-vous|puedes|podrías|podemos|pode\b|podes
|puoi|potresti|possiamo|did\b|have\b|has\b|are\b|is (?:he|she|it|this|that)\b"""


class Typed(Struct, frozen=True):
    """A sentence that the user typed, with the message that it stands in."""

    message: str
    session: str
    time: str
    day: str
    text: str

    @property
    def occasion(self) -> tuple[str, str]:
        """Where and when: two sentences of one occasion count once."""
        return self.session, self.day


class Meaning(Struct, frozen=True):
    """What a sentence is about: the words that it speaks for, and those that it speaks against."""

    pro: frozenset[str] = frozenset()
    con: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        return len(self.pro) + len(self.con)

    @property
    def words(self) -> frozenset[str]:
        return self.pro | self.con


class Repetition(Struct):
    """Sentences that say the same, oldest first."""

    said: list[Typed]
    meanings: list[Meaning]

    @property
    def occasions(self) -> list[Typed]:
        """The last sentence of each session and day."""
        return list({each.occasion: each for each in self.said}.values())


# Which sentences are looked at


def typed_sentences(text: str) -> list[str]:
    """The sentences of a message that somebody typed, of a length that tells a rule."""
    return [each for each in sentences(text) if SHORTEST <= len(each) <= LONGEST]


def corrects(sentence: str) -> bool:
    """Whether a sentence says how something is to be done, or that it was done wrongly."""
    said = sentence.casefold()
    if len(said.split()) > LATE:
        return False
    if _pattern(SCOLDING).search(said):
        return True
    cues = (STANDING, LIKING, CORRECTING, SPANISH_NO)
    return not said.endswith("?") and any(_pattern(each).search(said) for each in cues)


def asks(sentence: str) -> bool:
    """Whether a sentence asks for something that can be known, and not for a deed."""
    said = sentence.casefold()
    words = WORD.findall(said)
    if not said.endswith(("?", "？")) or not 3 <= len(words) <= LATE or corrects(sentence):
        return False
    if _pattern(BIDDING).match(said) or not word_set(POINTING).isdisjoint(words):
        return False
    return not ASKING.isdisjoint(words[:3])


def kind_of(sentence: str) -> str:
    """The kind of record that a correction becomes."""
    said = sentence.casefold()
    if _pattern(STANDING).search(said):
        return "instruction"
    return "preference" if _pattern(LIKING).search(said) else "correction"


# What a sentence is about


def meaning(sentence: str, *, plain: bool = False) -> Meaning:
    """What a sentence speaks for and against; of a question (`plain`) only what it names."""
    if plain:
        return Meaning(pro=frozenset(_subject(sentence)))
    pro, con = set[str](), set[str]()
    said = OVER.sub(r"\1 instead of", LEADING_NO.sub("", sentence.strip()))
    for clause in _pattern_of_clauses().split(said):
        against = _pattern(AGAINST).search(clause.casefold().replace("n't", " not"))
        (con if against else pro).update(_subject(clause))
    return Meaning(frozenset(pro), frozenset(con - pro))


def _subject(text: str) -> list[str]:
    return [word for word in telling(text) if word not in _filling() and word not in STOP]


@cache
def _filling() -> frozenset[str]:
    foreign = frozenset[str]().union(*FOREIGN_STOPS)
    return word_set(FILLING) | foreign


@cache
def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words.replace(chr(10), '')})(?!\w)")


@cache
def _pattern_of_clauses() -> re.Pattern[str]:
    return re.compile(CLAUSES.replace("\n", ""), re.I)


# Which of them say the same


def likeness(one: Meaning, other: Meaning, alike: Alike) -> float:
    """The share of their words that two sentences have in common; 0 where they disagree."""
    if not one.size or not other.size or one.pro & other.con or one.con & other.pro:
        return 0.0
    total = one.size + other.size
    shared = 2 * (len(one.pro & other.pro) + len(one.con & other.con)) / total
    if total > SHORT or not HALF_LIKE <= shared < 1:
        return shared
    near = _is_near(one.pro, other.pro, alike) or _is_near(one.con, other.con, alike)
    return shared + 2 * near / total


def _is_near(ours: frozenset[str], theirs: frozenset[str], alike: Alike) -> bool:
    """Whether a word that only one has is near in meaning to one that only the other has."""
    return any(
        alike(word, other) >= NEAR
        for word in ours - theirs
        for other in theirs - ours
        if not (word.isdigit() or other.isdigit())
    )


def groups(
    said: Iterable[Typed], alike: Alike, *, plain: bool = False, like: float = LIKE
) -> list[Repetition]:
    """The sentences that say the same, put together; those that say nothing are left out.

    Each joins the group of the sentence that it is most like, so the order matters: oldest first.
    """
    found: list[Repetition] = []
    having: dict[str, list[int]] = {}
    stems = Stems()
    for each in said:
        meant = stems.of(meaning(each.text, plain=plain))
        if meant.size < (2 if plain else 1):
            continue
        near = Counter(at for word in meant.words for at in having.get(word, ()))
        at = _best(found, near, meant, alike, like)
        if at < 0:
            at = len(found)
            found.append(Repetition([], []))
        found[at].said.append(each)
        if meant not in found[at].meanings and len(found[at].meanings) < MOST_MEANINGS:
            found[at].meanings.append(meant)
        for word in meant.words:
            places = having.setdefault(word, [])
            if at not in places:
                places.append(at)
    return found


def _best(
    found: Sequence[Repetition], near: Counter[int], meant: Meaning, alike: Alike, like: float
) -> int:
    """The group that a sentence belongs to: the one that all in it are most like; -1 for none."""
    best, where = like, -1
    for at, _ in sorted(near.items(), key=lambda each: (-each[1], each[0]))[:MOST_COMPARED]:
        meanings = found[at].meanings
        score = sum(likeness(meant, each, alike) for each in meanings) / len(meanings)
        if score > best or (score == best and where < 0):
            best, where = score, at
    return where


class Stems:
    """Words that differ by their endings alone, each read as the first of them that came."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._first: dict[str, list[str]] = {}

    def of(self, meant: Meaning) -> Meaning:
        return Meaning(self._all(meant.pro), self._all(meant.con))

    def _all(self, words: frozenset[str]) -> frozenset[str]:
        return frozenset(self._one(word) for word in sorted(words))

    def _one(self, word: str) -> str:
        if word not in self._known:
            others = self._first.setdefault(word[:3], [])
            self._known[word] = next((each for each in others if same_stem(each, word)), word)
            others.append(self._known[word])
        return self._known[word]


def says_it(text: str, wanted: Sequence[Meaning], *, plain: bool = False) -> bool:
    """Whether a text says all that one of these sentences says."""
    there, told = _alongside(text, wanted, plain=plain)
    return any(each.pro <= there.pro and each.con <= there.con for each in told)


def is_one_of(text: str, wanted: Sequence[Meaning], alike: Alike, *, plain: bool = False) -> bool:
    """Whether a text would be put to these sentences, which say the same."""
    there, told = _alongside(text, wanted, plain=plain)
    like = LIKE_QUESTION if plain else LIKE
    return any(likeness(there, each, alike) >= like for each in told)


def _alongside(
    text: str, wanted: Sequence[Meaning], *, plain: bool
) -> tuple[Meaning, list[Meaning]]:
    """The meaning of a text, and those of sentences in the same stems."""
    stems = Stems()
    return stems.of(meaning(text, plain=plain)), [stems.of(each) for each in wanted]


def clearest(said: Sequence[Typed]) -> Typed:
    """The sentence to keep: one that does not scold, the last of them."""

    def rank(at: int) -> tuple[bool, int]:
        return not _pattern(SCOLDING).search(said[at].text.casefold()), at

    return said[max(range(len(said)), key=rank)]
