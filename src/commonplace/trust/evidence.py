"""Evidence: the sentence of a user's message that a memory rests on, and what the user never typed.

Likeness only finds the sentence; it decides nothing about trust.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from math import log
from typing import NamedTuple

from msgspec import Struct

from commonplace.trust.sentences import WORD, lines_typed, sentences, split_line, word_set

SHORTEST, LONGEST = 8, 300
"""Characters of a quote, and of a sentence that is found."""
AROUND = 2 * LONGEST
"""Characters of the whole sentences that a quote stands in."""
LINE, WISH_LINE = 0.3, 0.2
"""The share of a memory's words, by their weight, that a sentence must cover; one that tells a wish
may cover less.
"""
CUE, BACK, LATER = 0.12, 0.25, 0.02
"""What a wish counts beside that share, what the memory covers of the sentence, and what lateness.
"""
MOST_WORDS = 24
"""Words of a memory that are kept to find its sentence by."""

Alike = Callable[[str, str], float]
"""How near two words lie, from 0 to 1."""


class UserMessage(Struct, frozen=True):
    """A message of the user."""

    id: str
    time: str
    text: str


class Evidence(Struct, frozen=True):
    """A sentence of the user's, as it was typed, with the message that it stands in."""

    message: str
    time: str
    sentence: str
    score: float = 1.0


# The quote that an agent gives


def bare(text: str) -> str:
    """A text without case, spacing and punctuation."""
    return " ".join(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def quoted(messages: Iterable[UserMessage], quote: str) -> Evidence | None:
    """The whole sentences that a quote stands in, of the last message that has it."""
    wanted = f" {bare(quote)} "
    if not SHORTEST <= len(quote.strip()) <= LONGEST or not wanted.strip():
        return None
    for message in reversed(list(messages)):
        for line in lines_typed(message.text):
            told = _around(split_line(line), wanted)
            if told and len(told) <= AROUND:
                return Evidence(message.id, message.time, told)
    return None


def _around(parts: Sequence[str], wanted: str) -> str:
    """The fewest neighbouring sentences that have the wanted words."""
    for count in range(1, len(parts) + 1):
        for at in range(len(parts) - count + 1):
            told = " ".join(parts[at : at + count])
            if wanted in f" {bare(told)} ":
                return told
    return ""


# The sentence that a memory rests on, where none is given

CUES = """
always|never|prefer\\w*|please|from now on|i (?:hate|like|love|want|need|use|don'?t|do not)|we use
|don'?t|do not|make sure|remember|instead|stop|no more|avoid|keep|should|must|actually|my name
|call me
|i'?m|i am|only|rather|ensure|stick to|going forward|in future|every time|whenever|let'?s
|immer|nie|niemals|bitte|ab jetzt|ab sofort|künftig|ich (?:hasse|mag|möchte|will|brauche|nutze|bin)
|lieber|bevorzug\\w*|merk\\w*|nicht|kein\\w*|statt\\w*|sollst|musst|nur|vermeide\\w*
|toujours|jamais|s'il te pla[iî]t|désormais|dorénavant|je (?:préfère|déteste|veux|n'aime|suis|ne)
|préfér\\w*|évite\\w*|n'\\w+|ne|plutôt|retiens|souviens|il faut
|siempre|nunca|por favor|a partir de ahora|prefiero|odio|quiero|no me gusta|recuerda|evita\\w*
|en vez|en lugar|soy|debes|no
|sempre|jamais|a partir de agora|prefiro|odeio|quero|não|lembra\\w*|lembre\\w*|evit\\w*|em vez|sou
|mai|per favore|d'ora in poi|preferisco|odio|voglio|non|ricord\\w*|invece|sono|devi
"""
FRAME = """user users prefers prefer preferred preference preferences wants want wanted likes like
liked asked asks ask says said told always never should must use uses using used agent assistant
remember instruction correction their they them he she his her person human standing rule make
do does don doesn not no any when for the a an and or of to in on with be is are it its as by at
from that this these those than into about all every also only instead rather please if but
i my me mine you your yours we our us without everything anything something thing things
nutzer nutzerin benutzer bevorzugt möchte will mag der die das den dem des ein eine einen einem
einer und oder für mit im in an auf zu von ist sind soll sollen nicht kein keine immer nie bei als
ich mein meine meinen meinem meiner mich mir du dein deine dich dir wir unser unsere uns ohne alles
l le la les un une des de du et ou pour avec dans en sur est sont utilisateur utilisatrice préfère
veut aime toujours jamais que qui ne pas à au aux il elle se ce cette doit être faut
je j mon ma mes me moi tu ton ta tes te toi nous notre nos vous votre sans tout
el los las una unos unas y o para con en del al es son usuario usuaria prefiere quiere gusta le
siempre nunca que se no debe ser su sus por yo mi mis me tú tu tus te nosotros nuestro sin todo
o os as um uma e ou para com em do da dos das no na é são usuário usuária prefere quer gosta
sempre nunca que não deve ser seu sua por ao eu meu minha meus minhas me você nós nosso sem tudo
il lo gli i uno per con nel nella del della è sono utente preferisce vuole piace sempre mai che
non deve essere suo sua si di da io mio mia miei mie mi tu tuo tua ti noi nostro senza tutto"""
MANNER = """ask asks asked asking permission permissions approval approve approves approved confirm
confirms confirmed confirmation consent consents check checks checked checking warn warning tell
telling notify before after first again until till once while during later now today time times
fragen frage fragt fragst gefragt nachfragen rückfrage rückfragen erlaubnis zustimmung freigabe
genehmigung bestätigung bestätigen vorher zuerst erst wieder bevor nachdem bis jetzt mal
demander demande demandes autorisation permission accord confirmation confirmer avant après d'abord
encore prévenir avertir
preguntar preguntes pregunta preguntarme permiso aprobación confirmación confirmar antes después
primero otra vez avisar avisarme
perguntar perguntes pergunta permissão aprovação confirmação confirmar depois primeiro avisar
chiedere chiedi chiedermi permesso approvazione conferma confermare prima dopo ancora avvisare"""
"""Words of how and when something is done: many rules end in the same ones."""
NEAR = 0.45
"""The likeness from which one word may stand for another."""


class _Sentence(NamedTuple):
    message: UserMessage
    text: str
    words: frozenset[str]
    order: int

    @property
    def wishes(self) -> bool:
        return _cue().search(self.text.casefold()) is not None


def found(messages: Sequence[UserMessage], text: str, alike: Alike) -> list[Evidence]:
    """The sentences nearest to a memory, the best of each message, best first; none too far."""
    told = [
        _Sentence(message, sentence, frozenset(telling(sentence)), order)
        for order, message in enumerate(messages)
        for sentence in sentences(message.text)
        if SHORTEST <= len(sentence) <= LONGEST
    ]
    wanted = list(dict.fromkeys(telling(text)))[:MOST_WORDS]
    if not told or not wanted:
        return []
    covers = {
        (word, other): _cover(word, other, alike)
        for word in wanted
        for other in frozenset().union(*(each.words for each in told))
    }
    weights = _weights(wanted, told, covers)
    subject = [word for word in wanted if word not in _manner()] or wanted
    about = _about(told, subject, covers)
    scores = [_score(each, wanted, subject, weights, covers, len(messages)) for each in told]
    return _best(told, scores, about) or _in_other_words(told, scores, text)


def _about(
    told: Sequence[_Sentence], subject: Sequence[str], covers: dict[tuple[str, str], float]
) -> set[int]:
    """The messages that have two words of a memory's subject, or half of them.

    One alone is no more than a verb or a thing that both happen to speak of.
    """
    having: dict[int, set[str]] = {each.order: set() for each in told}
    for each in told:
        having[each.order] |= {
            word for word in subject if any(covers[word, other] for other in each.words)
        }
    return {at for at, words in having.items() if len(words) >= min(2, len(subject) / 2)}


def _best(
    told: Sequence[_Sentence], scores: Sequence[tuple[float, float]], about: Container[int]
) -> list[Evidence]:
    best: dict[int, Evidence] = {}
    for each, (covered, score) in zip(told, scores):
        old = best.get(each.order)
        line = WISH_LINE if each.wishes else LINE
        near = covered >= line and each.order in about
        if near and (old is None or score > old.score):
            best[each.order] = Evidence(each.message.id, each.message.time, each.text, score)
    return sorted(best.values(), key=lambda it: -it.score)


def _in_other_words(
    told: Sequence[_Sentence], scores: Sequence[tuple[float, float]], text: str
) -> list[Evidence]:
    """Where the user speaks another language than the agent writes: wishes, the last first.

    Names and numbers that both have come before that.
    """
    ours = language(text)
    wishes = [
        (score if covered else 0.0, each)
        for each, (covered, score) in zip(told, scores)
        if ours and each.wishes and language(each.text) not in ("", ours)
    ]
    wishes.sort(key=lambda found: (-found[0], -found[1].order))
    best: dict[int, Evidence] = {}
    for score, each in wishes:
        evidence = Evidence(each.message.id, each.message.time, each.text, score)
        best.setdefault(each.order, evidence)
    return list(best.values())


LANGUAGES = {
    "en": "the a an is are to of for in on with and or not no my your it this that i you we be",
    "de": "der die das ein eine ist sind zu für mit und oder nicht kein keine mir mich ich du wir "
    "bitte den dem im auf immer nie",
    "fr": "le la les un une est sont de du pour avec et ou ne pas je tu nous mon ma mes en dans "
    "toujours jamais s'il",
    "es": "el la los las un una es son de para con y o no mi yo tú nos en por siempre nunca que",
    "pt": "o a os as um uma é são de para com e ou não meu minha eu tu nós em por sempre nunca que",
    "it": "il lo la gli un una è sono di per con e o non mio mia io tu noi in sempre mai che",
}
"""Words by which a language is told: small, and in nearly every sentence."""


@cache
def language(text: str) -> str:
    """The language whose small words a text has most of; empty where that is not clear."""
    words = WORD.findall(text.casefold())
    counts = {
        name: sum(word in word_set(small) for word in words) for name, small in LANGUAGES.items()
    }
    first, second = sorted(counts.values(), reverse=True)[:2]
    return max(counts, key=lambda name: counts[name]) if first > second else ""


def _weights(
    wanted: Sequence[str], told: Sequence[_Sentence], covers: dict[tuple[str, str], float]
) -> dict[str, float]:
    """A word that few of the messages have says more; one that none has may be the agent's own."""
    count = len({each.order for each in told})
    weights = {}
    for word in wanted:
        having = {
            each.order for each in told if any(covers[word, other] >= 1 for other in each.words)
        }
        rarity = log(1 + (count + 1) / (max(1, len(having)) + 0.5))
        weights[word] = rarity if having else rarity / 2
    return weights


def _score(
    each: _Sentence,
    wanted: Sequence[str],
    subject: Sequence[str],
    weights: dict[str, float],
    covers: dict[tuple[str, str], float],
    count: int,
) -> tuple[float, float]:
    """The share of a memory's subject that a sentence covers; that of all, and what else speaks
    for it.
    """
    covered = {
        word: max((covers[word, other] for other in each.words), default=0.0) for word in wanted
    }

    def share(words: Sequence[str]) -> float:
        total = sum(weights[word] for word in words)
        return sum(covered[word] * weights[word] for word in words) / total

    back = sum(
        max((covers[word, other] for word in wanted), default=0.0) for other in each.words
    ) / max(len(each.words), 3)
    beside = BACK * back + CUE * each.wishes + LATER * (each.order + 1) / count
    return share(subject), share(wanted) + beside


@cache
def _cue() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{''.join(CUES.split(chr(10)))})(?!\w)")


def telling(text: str) -> list[str]:
    """The words of a text that say what it is about."""
    words = (_plain(word) for word in WORD.findall(text.casefold()))
    return [word for word in words if word not in _frame() and (len(word) > 1 or word.isdigit())]


@cache
def _frame() -> frozenset[str]:
    return frozenset(map(_plain, FRAME.split()))


@cache
def _manner() -> frozenset[str]:
    return frozenset(map(_plain, MANNER.split()))


@cache
def _plain(word: str) -> str:
    """A word without its accents."""
    letters = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _cover(word: str, other: str, alike: Alike) -> float:
    """How well one word stands for another: the same stem, a part of it, or near in meaning."""
    if word == other or same_stem(word, other):
        return 1.0
    if word.isdigit() or other.isdigit():
        return 0.0
    if min(len(word), len(other)) >= 4 and (word in other or other in word):
        return 0.8
    near = alike(word, other)
    return near if near >= NEAR else 0.0


def same_stem(one: str, other: str) -> bool:
    """Whether two words differ by their endings alone, in a language that puts them there."""
    if one[:3] != other[:3]:
        return one == other
    short, long = sorted((one, other), key=len)
    if short == long:
        return True
    shared = next((at for at, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), len(short))
    if len(short) == shared and len(short) >= 3 and long[shared:] in ("s", "es", "n", "e", "ed"):
        return True
    return shared >= 4 and shared >= 0.65 * len(long) and len(long) - shared <= 4


# What of a wording the user did not type

COMMANDS = """rm mv cp curl wget sudo chmod chown ssh scp rsync nc netcat bash sh zsh eval exec pip
pipx uv npm npx pnpm yarn git docker kubectl cat tee dd mkfs crontab systemctl base64 python python3
node perl ruby powershell apt brew cargo make gpg openssl export source"""
NAMES = re.compile(
    r"""
    \w[\w+.-]*://[^\s"'<>`]+                       # a URL
    |[\w.+-]+@[\w-]+(?:\.[\w-]+)*                  # an address
    |`[^`\n]+`                                     # code
    |(?<![\w/])[~.]{0,2}/[\w.~/-]+                 # a path
    |[\w.-]+/[\w./-]+
    |(?<![\w-])--?[A-Za-z][\w-]*                   # a flag
    |\$\{?\w+\}?                                   # a variable
    |\w+(?:\.\w+)+                                 # a host, a file, a name with dots
    |\.\w+
    |\w*[A-Za-z]\d\w*|\w*\d[A-Za-z]\w*             # a code name: with digits,
    |\w+_\w+|[a-z]+[A-Z]\w*|[A-Z]{3,}\w*           # bars or capitals
    |\w+(?:-\w+){2,}
    |\d+(?:[.,:]\d+)*                              # a number
    """,
    re.X,
)


def untyped(wording: str, typed: Iterable[str]) -> tuple[str, ...]:
    """The names, numbers and commands of a wording that stand in none of the typed sentences."""
    said = "\n".join(typed).casefold()
    words = set(WORD.findall(said))
    names = dict.fromkeys(match[0] for match in NAMES.finditer(wording))
    strange = [name for name in names if not _is_typed(name, said)]
    rest = WORD.findall(NAMES.sub(" ", wording))
    commands = [word for word in rest if word in word_set(COMMANDS) and word not in words]
    return tuple(dict.fromkeys((*strange, *commands)))


def _is_typed(name: str, said: str) -> bool:
    inner = name.strip("`.,;:!?").casefold()
    at = said.find(inner)
    while at >= 0:
        before, after = said[at - 1 : at], said[at + len(inner) : at + len(inner) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = said.find(inner, at + 1)
    return False


def search_words(wording: str, sentence: str) -> tuple[str, ...]:
    """The plain words of a wording that its sentence lacks, in the order of the alphabet.

    They find the sentence, and tell nothing: names, numbers and commands are not among them.
    """
    plain = NAMES.sub(" ", wording)
    said = set(telling(sentence))
    fresh = {word for word in telling(plain) if word.isalpha() and word not in said}
    return tuple(sorted(fresh - word_set(COMMANDS))[:MOST_WORDS])
