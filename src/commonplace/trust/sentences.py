"""The sentences of a message that the user typed: what was pasted into it is somebody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

LONG_PARAGRAPH, LONG_LINES = 1200, 12
LONG_MESSAGE, FIRST_WORDS = 4000, 600
LONG_QUOTATION = 60

FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
BLOCK = re.compile(r"<([A-Za-z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.S)
MAIL = re.compile(
    r"^(?:from|to|subject|date|sent|cc|von|an|betreff|gesendet|de|para|asunto|assunto|objet|à|da|a"
    r"|oggetto|enviado|envoyé)\s?:\s",
    re.I,
)
MACHINE = re.compile(
    r"""\s*(?:
        >|\||<|\$\s|>>>|\#!|\{|\[\s*["{]|[}\])]+\s*,?\s*$|"[^"]*"\s*:|(?:\+\+\+|---|@@)\s
        |\[?\d{4}-\d\d-\d\d[T\s]\d\d:|\[?\d\d:\d\d:\d\d
        |\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b
        |Traceback\b|File\s"|at\s[\w.$<>]+\(|(?:[\w.]+)?(?:Error|Exception):
        |[\w.]+\s?=\s?\S|(?:import|from)\s[\w.]+\s*(?:import\s.*)?$|def\s\w+\(|class\s\w+[:(]
        |(?:const|let|var)\s\w+\s?=|.*[;{]\s*$
    )""",
    re.X,
)
PASTED_WORDS = """this below following email mail message log logs output page error text article
document says said wrote snippet code file content contents pasted here stacktrace trace response
reply transcript readme comment ticket issue review notes
dies diese dieses folgende folgender unten nachricht seite fehler ausgabe schreibt schrieb sagt
antwort datei inhalt hier
ceci suivant suivante page erreur sortie dit écrit fichier contenu voici réponse message
esto siguiente página salida dice escribió archivo contenido aquí respuesta mensaje correo
isto seguinte saída diz escreveu arquivo ficheiro conteúdo aqui resposta mensagem
questo seguente pagina errore uscita dice scritto file contenuto ecco risposta messaggio"""
OWN_WORDS = """always never prefer please rule rules now remember immer nie niemals bitte regeln
toujours jamais règles siempre nunca reglas sempre mai regras regole"""
QUOTATION = re.compile(r"“[^”]{1,4000}”|„[^“”]{1,4000}[“”]|«[^»]{1,4000}»|\"[^\"\n]{1,4000}\"")
BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
STOPS = re.compile(r"(?<=[.!?…])[\"”»)]*\s+(?=[^a-zà-ÿ\s])|(?<=[。！？])")
WORD = re.compile(r"\w+")


def sentences(message: str) -> list[str]:
    """The sentences of a message that the user typed: pasted blocks are somebody else's."""
    found: list[str] = []
    for line in lines_typed(message):
        found += split_line(line)
    return [each for each in found if any(map(str.isalnum, each))]


def split_line(line: str) -> list[str]:
    """The sentences of a line, without those that a long quotation stands in."""
    spans = [
        match.span()
        for match in QUOTATION.finditer(line)
        if len(match[0]) > LONG_QUOTATION or STOPS.search(match[0])
    ]
    found, start = [], 0
    for end in (*(stop.end() for stop in STOPS.finditer(line) if not _within(stop, spans)), None):
        stop_at = len(line) if end is None else end
        if not any(start < last and first < stop_at for first, last in spans):
            found.append(line[start:stop_at].strip())
        start = stop_at
    return [each for each in found if each]


def _within(stop: re.Match[str], spans: Sequence[tuple[int, int]]) -> bool:
    return any(first <= stop.start() < last for first, last in spans)


def lines_typed(message: str) -> Iterator[str]:
    """The lines of a message that were typed, with broken ones joined and lists introduced."""
    text = BLOCK.sub("\n\n", FENCE.sub("\n\n", message))
    if len(text) > LONG_MESSAGE:
        text = text[:FIRST_WORDS].partition("\n\n")[0]
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = paragraph.split("\n")
        if len(paragraph) > LONG_PARAGRAPH or len(lines) > LONG_LINES:
            continue
        kept: list[str] = []
        for line in lines:
            if MAIL.match(line):
                yield from _joined(kept)
                return
            if _announces(line):
                yield from _joined([*kept, line])
                return
            kept += [] if MACHINE.match(line) else [line]
        yield from _joined(kept)


def _announces(line: str) -> bool:
    """Whether a line says that what follows was written elsewhere."""
    told = line.rstrip()
    if not told.endswith(":"):
        return False
    words = set(WORD.findall(told.casefold()))
    return bool(words & word_set(PASTED_WORDS)) and not words & word_set(OWN_WORDS)


@cache
def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """Lines as they were meant: a broken sentence is one, an item is told with its introduction."""
    found: list[str] = []
    intro = ""
    for line in lines:
        text = BULLET.sub("", line).strip()
        if not text:
            continue
        is_item = BULLET.match(line) is not None
        if found and not is_item and text[0].islower() and found[-1][-1] not in ".!?:;":
            found[-1] += f" {text}"
        else:
            found.append(f"{intro} {text}" if intro else text)
        if text.endswith(":"):
            intro = text
    yield from found
