"""The question in a prompt: the sentence that asks, and words around it that the vault knows.

People paste a log, a mail or a file and ask about it in one line, before or after. A short text is
a question as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from commonplace.search.words import STOP, tokens

LOOKED_AT = 20_000
"""Characters of a prompt that are looked at."""
SHORT = 40
"""Words up to which a text is a question as it is."""
LONG_SENTENCE = 30
"""Words from which a sentence is cut where its question begins: a log may have no full stops."""
ASIDE = 12
"""Words of the rest that are looked for, too."""
COUNTED = 80
"""Words that stand for the rest, those first that look like names."""
OPENING = 3
"""Words of a sentence among which its question word is."""
LETTERS = 0.7
"""The share of letters and spaces that prose has, and neither code nor a log."""
SENTENCE = r"[^\n.!?。！？؟]+(?:[.!?](?!\s|$)[^\n.!?。！？؟]*)*[.!?。！？؟]*"
ABBREVIATIONS = (" dr.", " mr.", " mrs.", " ms.", " st.", " u.s.", " e.g.", " i.e.", " vs.", " no.")
FIRST, LAST = 1.5, 2.0
"""What it counts that a sentence is the first or the last of a prompt."""
MARKS = ("?", "？", "؟", "か", "か。", "吗", "呢")
ENGLISH = """who whom whose what which when where why how is are was were do does did can could
should would will may am have has any anything anyone"""
BIDS = """remind tell show list find give explain recall remember check look erinnere sag nenne zeig
rappelle dis montre recuérdame dime muéstrame lembra diz mostra ricordami dimmi mostrami напомни
скажи покажи"""
BIDDING = frozenset(BIDS.split())
GERMAN = """wer wen wem wessen was welche welcher welches welchen wann wo woher wohin warum wieso
wie darf kann soll muss gibt"""
FRENCH = """qui que quoi quel quelle quels quelles quand où pourquoi comment combien
est-ce"""
SPANISH = "quién quiénes qué cuál cuáles cuándo dónde cómo cuánto cuánta cuántos cuántas"
PORTUGUESE = "quem qual quais quando onde porque como quanto quantos"
ITALIAN = "chi cosa quale quali quando dove perché come quanto quanti"
RUSSIAN = """кто кого кому что чего какой какая какое какие когда где куда откуда почему зачем как
сколько"""
ASKING = frozenset(
    " ".join((ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, BIDS)).split()
)
OPENINGS = """Who Whose What Which When Where Why How Did Does Do Is Are Was Were Has Have Can Could
Should Would Wer Wann Warum Welche"""
BEGINNINGS = frozenset(OPENINGS.split())
"""Words that begin a question where they have a capital letter, and no name."""
UNSPACED = """吗 呢 什么 哪 谁 几 多少 怎么 为什么 何时
いつ どこ だれ 誰 何 なぜ どう どれ いくら ですか ますか"""
ASKING_UNSPACED = tuple(UNSPACED.split())
OWN = """i i'm i'd my me we our us ich mein meine mir wir unser je mon ma mes nous yo mi mis eu meu
minha io mio mia я мой моя мне мы"""
OF_ONESELF = frozenset(OWN.split())
"""Who asks a memory asks for what is theirs."""

NO_WORD = ""
"""What no record has is as rare as this."""

Rarity = Callable[[Sequence[str]], Mapping[str, float]]


class Question(Struct, frozen=True):
    """What is asked, and words beside it that may say of what."""

    text: str
    rest: str = ""
    """The words that stand for the rest, in their order."""
    aside: tuple[str, ...] = ()
    """Those of them that the vault has, the rarest first."""


def question_in(prompt: str, rarity: Rarity) -> Question:
    """The question of any text; `rarity` is that of the vault, for words in small letters."""
    text = prompt[:LOOKED_AT]
    if len(text) < SHORT or len(tokens(text)) <= SHORT:
        return Question(text)
    asking = _asking(text)
    rest = _rest(text, asking)
    return Question(asking, " ".join(rest), _aside(rest, rarity))


def _asking(text: str) -> str:
    """The sentence that most looks like a question to a memory."""
    sentences = [_from_its_question(sentence) for sentence in _sentences(text)]
    if not sentences:
        return text
    places = {0: FIRST, len(sentences) - 1: LAST}
    likely = [_likelihood(each) + places.get(at, 0.0) for at, each in enumerate(sentences)]
    return sentences[likely.index(max(likely))]


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for part in re.findall(SENTENCE, text):
        sentence = part.strip()
        if found and found[-1].lower().endswith(ABBREVIATIONS):
            found[-1] = f"{found[-1]} {sentence}"
        elif any(map(str.isalnum, sentence)):
            found.append(sentence)
    return found


def _likelihood(sentence: str) -> float:
    words = sentence.lower().split()
    opening = words[:OPENING]
    asks = not ASKING.isdisjoint(opening) or any(part in sentence for part in ASKING_UNSPACED)
    is_statement = sentence.endswith((".", "。")) and BIDDING.isdisjoint(opening)
    return (
        3.0 * (sentence.endswith(MARKS) or not BIDDING.isdisjoint(words[:1]))
        + 1.5 * (asks and not is_statement)
        + 0.5 * (not OF_ONESELF.isdisjoint(words))
        - 2.0 * _is_pasted(sentence)
    )


def _is_pasted(sentence: str) -> bool:
    """Whether it is code, a line of a log or a quotation."""
    plain = sum(each.isalpha() or each == " " for each in sentence)
    return sentence.startswith((">", "$", "#", "//")) or plain < LETTERS * len(sentence)


def _from_its_question(sentence: str) -> str:
    """A sentence from where it begins to ask: what stands before may lack its full stop."""
    words = sentence.split()
    capital = [at for at, word in enumerate(words) if word in BEGINNINGS]
    if len(words) > LONG_SENTENCE and not capital:
        capital = [at for at, word in enumerate(words) if word.lower() in ASKING]
        capital = capital or [len(words) - LONG_SENTENCE]
    return " ".join(words[capital[-1] if capital else 0 :])


def _rest(text: str, asking: str) -> list[str]:
    """What is not in the question, each word once, as many as can be counted."""
    said = {word.lower() for word in tokens(asking)}
    words = dict.fromkeys(filter(_tells, tokens(text)))
    likely = sorted((word for word in words if word.lower() not in said), key=_looks_common)
    kept = set(likely[:COUNTED])
    return [word for word in words if word in kept]


def _aside(rest: Sequence[str], rarity: Rarity) -> tuple[str, ...]:
    words = list(dict.fromkeys(map(str.lower, rest)))
    rare = rarity([*words, NO_WORD])
    known = [word for word in words if rare[word] < rare[NO_WORD]]
    return tuple(sorted(known, key=lambda word: -rare[word])[:ASIDE])


def _tells(word: str) -> bool:
    return len(word) > 1 and word.lower() not in STOP and not word.isdecimal()


def _looks_common(word: str) -> tuple[bool, int]:
    """Names, codes and long words come first."""
    return word.islower(), -len(word)
