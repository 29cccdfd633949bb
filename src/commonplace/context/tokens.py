"""Count the tokens of a text: by an estimate from its letters, or with a real tokenizer.

The estimate is calibrated against o200k, whose count is near that of other large vocabularies. It
needs neither a vocabulary nor a download.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache

from commonplace.model.errors import MissingExtra

Counter = Callable[[str], int]

# Pieces of ASCII text, cut where tokenizers cut: words by their case, with one sign before them,
# digits by threes, signs with the line end behind them. A single space belongs to the word behind
# it and costs nothing.
SIGN = r"[^\sA-Za-z0-9]"
ASCII = rf"{SIGN}?(?:[A-Z]?[a-z]+|[A-Z]+)|\d{{1,3}}|{SIGN}+\n*|\s*\n|[ \t]{{2,}}(?=\S)"
SIGNED = 0.35
"""What a sign before a word adds to it."""
WORDS = (1.0, 1.0, 1.0, 1.0, 1.0, 1.02, 1.06, 1.1, 1.15, 1.25, 1.4, 1.55, 1.7)
"""What a word of that many letters costs; a longer one half a token more for each three letters."""
SIGNS = (1.0, 1.0, 1.05, 1.25, 1.6)
"""What that many signs in a row cost; a longer row a quarter more for each."""
SCRIPTS = (
    ("\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003347f", 0.72),  # Chinese
    ("\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f", 0.71),  # Japanese syllables
    ("\u1100-\u11ff\u3130-\u318f\uac00-\ud7af", 0.71),  # Korean
    ("\u0370-\u03ff", 0.45),  # Greek
    ("\u0400-\u052f", 0.285),  # Cyrillic
    ("\u0590-\u05ff", 0.5),  # Hebrew
    ("\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff", 0.355),  # Arabic
    ("\u0900-\u0dff", 0.4),  # Indic
    ("\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff", 0.5),  # Thai and its neighbours
    ("\u00aa-\u024f\u1e00-\u1eff", 0.7),  # Latin with accents
    ("\u3000-\u303f\uff00-\uff65\u2010-\u205f", 0.95),  # signs of many scripts
    ("\U0001f000-\U0001faff\u2600-\u27bf\ufe0f", 1.5),  # emoji
)
"""Letters by script, and what one of them costs in running text."""
OTHER = 1.5
MOST_KNOWN = 50_000
"""Pieces whose cost is kept."""


@cache
def counter(name: str = "estimate") -> Counter:
    """The counter of that name: estimate, or o200k."""
    if name != "o200k":
        return estimate
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        unbuilt = ", which has no build for Python 3.14 yet," if sys.version_info >= (3, 14) else ""
        raise MissingExtra(f"The tokenizer o200k{unbuilt}", "tokens") from None
    count: Counter = openai.o200k_base().count
    return count


def estimate(text: str) -> int:
    """About how many tokens a text has."""
    if text.isascii():
        return _rounded(_plain(text))
    beyond, scripts = _beyond()
    cost = _plain(beyond.sub("", text))
    for run in beyond.findall(text):
        cost += _written(run, scripts)
    return _rounded(cost)


def _rounded(cost: float) -> int:
    return int(cost + 0.999)


def _plain(text: str) -> float:
    """What ASCII text costs."""
    return sum(map(_costs.__getitem__, _ascii().findall(text)))


class _Costs(dict[str, float]):
    """What each piece costs, worked out when it is first seen: texts repeat their words."""

    def __missing__(self, piece: str) -> float:
        if len(self) > MOST_KNOWN:
            self.clear()
        cost = self[piece] = _cost(piece)
        return cost


_costs = _Costs()


def _cost(piece: str) -> float:
    size = len(piece)
    if piece[-1].isalpha():
        signed = 0.0 if piece[0].isalpha() else SIGNED
        size -= bool(signed)
        long = WORDS[-1] + (size - len(WORDS) + 1) / 6
        return signed + (WORDS[size] if size < len(WORDS) else long)
    if size == 1 or piece[0].isspace() or piece[0].isdigit():
        return 1.0
    return SIGNS[size] if size < len(SIGNS) else SIGNS[-1] + (size - len(SIGNS) + 1) / 4


def _written(run: str, scripts: list[tuple[re.Pattern[str], float]]) -> float:
    """What a run of letters beyond ASCII costs."""
    cost, left = 0.0, len(run)
    for pattern, each in scripts:
        count = sum(map(len, pattern.findall(run)))
        cost += count * each
        left -= count
        if not left:
            return cost
    return cost + left * OTHER


@cache
def _ascii() -> re.Pattern[str]:
    return re.compile(ASCII)


@cache
def _beyond() -> tuple[re.Pattern[str], list[tuple[re.Pattern[str], float]]]:
    """Made when the first such text comes: most texts are plain, and sets of letters cost time."""
    scripts = [(re.compile(f"[{letters}]+"), cost) for letters, cost in SCRIPTS]
    return re.compile(r"[^\x00-\x7f]+"), scripts
