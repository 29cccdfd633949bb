"""Forms of Latin words that are searched as one, beyond the stems that FTS5 makes.

Porter's stems join "databases" with "database". These forms join what he leaves apart: "allergies"
with "allergic", "ran" with "run", "retry count" with "maxRetryCount", "5 kg" with "5kg". A record's
forms stand beside its text in the index. A question's words are looked for in their forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

ENDINGS = """ies y ic ics ical ically ist ists istic er ers or ors ery eries ian ians al als ial
ials iology iologies iologist ology ologies ological ologist ologists ade ades ated ates ating"""
SHORTEST = 5
"""Letters that are left at least."""
LATIN_ENDINGS = """a e i o an ao as ai em en er es ern ent ents ez is os oes ano ono iano ar
ir are ere ire n s x"""
SHORTEST_LATIN = 4
"""German, French, Spanish, Portuguese and Italian have the same endings for different reasons."""
IRREGULAR_FORMS = """
eat:ate,eaten become:became begin:began,begun bend:bent bite:bitten blow:blew,blown bleed:bled
buy:bought breed:bred break:broke,broken bring:brought build:built burn:burnt come:came
catch:caught choose:chose,chosen creep:crept deal:dealt drink:drank,drunk draw:drew,drawn
drive:drove,driven dig:dug dream:dreamt feed:fed fall:fell,fallen feel:felt flee:fled
fly:flew,flown forbid:forbade,forbidden forget:forgot,forgotten forgive:forgave fight:fought
find:found freeze:froze,frozen give:gave,given go:went,gone grow:grew,grown hear:heard hold:held
hide:hid,hidden hang:hung keep:kept know:knew,known lay:laid lean:leant learn:learnt leave:left
lend:lent lose:lost make:made mean:meant meet:met pay:paid run:ran ring:rang,rung ride:rode,ridden
say:said sit:sat see:saw,seen send:sent sew:sewn shake:shook,shaken shine:shone shoot:shot
shrink:shrank sleep:slept slide:slid smell:smelt sell:sold seek:sought spend:spent
speak:spoke,spoken spell:spelt spill:spilt spoil:spoilt spring:sprang steal:stole,stolen
stand:stood stick:stuck strike:struck sting:stung sing:sung,sang sink:sank,sunk swim:swam,swum
sweep:swept swear:swore,sworn swing:swung teach:taught throw:threw,thrown tell:told
take:took,taken tear:tore,torn think:thought understand:understood wake:woke,woken win:won
wear:wore,worn write:wrote,written child:children man:men woman:women person:people foot:feet
tooth:teeth mouse:mice goose:geese wife:wives knife:knives shelf:shelves half:halves calf:calves
wolf:wolves loaf:loaves thief:thieves ox:oxen"""
UNITS = {
    **dict.fromkeys(("s", "sec", "secs"), "seconds"),
    **dict.fromkeys(("min", "mins"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs"), "hours"),
    "d": "days",
    "yr": "years",
}
"""What is written out after a number as often as not."""
VERSION = "version"
KNOWN = 65536
"""Words whose forms are remembered."""

LONGEST_FIRST = sorted(ENDINGS.split(), key=len, reverse=True)
LATIN = sorted(LATIN_ENDINGS.split(), key=len, reverse=True)
IRREGULAR = {
    form: base
    for base, _, forms in (each.partition(":") for each in IRREGULAR_FORMS.split())
    for form in forms.split(",")
}
PART = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
DATE = re.compile("[0-9]{4}-[0-9-]+")


def forms_of(word: str) -> tuple[str, ...]:
    """The forms under which an ASCII word is found, unless that is the word as it stands.

    Of a name these are its parts, of any other word the one form that it shares with its kin.
    """
    if is_name(word):
        parts = tuple(dict.fromkeys(_written_out([part.lower() for part in PART.findall(word)])))
        # The 7 of S7 says nothing.
        return () if all(map(str.isdigit, parts)) else parts
    small = word.lower()
    kin = IRREGULAR.get(small) or without(small, LONGEST_FIRST, SHORTEST)
    return (kin,) if kin != small else ()


def is_name(word: str) -> bool:
    """Whether it has parts; a date is always whole."""
    return word.isascii() and len(PART.findall(word)) > 1 and not DATE.fullmatch(word)


def apart(name: str) -> tuple[str, ...]:
    """A name as people write it in several words."""
    parts = [part.lower() for part in PART.findall(name)]
    full = [
        UNITS.get(part, part) if before.isdigit() else part
        for before, part in pairwise(("", *parts))
    ]
    if len(parts) == 2 and parts[0] == "v":
        full[0] = VERSION
    return tuple(dict.fromkeys((" ".join(parts), " ".join(full))))


def _written_out(parts: list[str]) -> Iterator[str]:
    """The parts of a name but for single letters, and what stands for them beside a number."""
    if len(parts) == 2 and parts[0] == "v":
        yield VERSION
    for before, part in pairwise(("", *parts)):
        if len(part) > 1 or part.isdigit():
            yield part
        if before.isdigit() and part in UNITS:
            yield UNITS[part]


@lru_cache(KNOWN)
def latin_stem(word: str) -> str:
    """The stem of a word of another language that is written in Latin letters, without accents."""
    small = word.lower()
    if not small.isascii():
        from unicodedata import normalize

        small = normalize("NFD", small).encode("ascii", "ignore").decode()
    stem = without(small, LATIN, SHORTEST_LATIN)
    # Italian writes banca and banche.
    return stem[:-1] if stem.endswith(("ch", "gh")) else stem


def without(word: str, endings: Sequence[str], shortest: int) -> str:
    """The word without the first of these endings that leaves so many letters."""
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= shortest:
            return word[: -len(ending)]
    return word
