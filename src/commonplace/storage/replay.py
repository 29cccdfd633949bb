"""What the documents say according to the journal.

It folds entries into texts, and knows neither the documents' files nor the index.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from commonplace.storage.journal import Append, Entry, Journal, Text, applied


def state(journal: Journal, name: str, *, since: int = 0, until: int | None = None) -> bytes | None:
    """What a document says; None when it is not there."""
    found = states(journal, since=since, until=until, only=(name,)).get(name)
    return found[1] if found else None


def states(
    journal: Journal,
    *,
    since: int = 0,
    until: int | None = None,
    only: Container[str] | None = None,
) -> dict[str, tuple[int, bytes]]:
    """Every document: its base, which is where its last whole text stands, and what it says."""
    texts: dict[str, bytearray] = {}
    bases: dict[str, int] = {}
    for entry in journal.entries(since=max(since, 0)):
        if until is not None and entry.position >= until:
            break
        for change in entry.changes:
            name = change.document
            if only is not None and name not in only:
                continue
            if isinstance(change, Append):
                # In place: a copy a line would take hours where there are many.
                texts.setdefault(name, bytearray())[change.at :] = entry.appended(change)
                bases.setdefault(name, entry.position)
                continue
            told = after(journal, bytes(texts.get(name, b"")), entry, name)
            if told is None:
                texts.pop(name, None)
                bases.pop(name, None)
            else:
                texts[name] = bytearray(told)
                bases[name] = entry.position if isinstance(change, Text) else bases.get(name, 0)
    return {name: (bases[name], bytes(text)) for name, text in texts.items()}


def marked(journal: Journal, name: str, is_it: Callable[[bytes], bool]) -> bytes | None:
    """The text of a document that is wanted, sought from its last whole text back to the first."""
    stretches: list[list[Entry]] = [[]]
    for entry in journal.entries():
        if name in entry.documents():
            if any(isinstance(each, Text) and each.document == name for each in entry.changes):
                stretches.append([])
            stretches[-1].append(entry)
    texts = (text for entries in reversed(stretches) for text in _texts(journal, name, entries))
    return next(filter(is_it, texts), None)


def _texts(journal: Journal, name: str, entries: Sequence[Entry]) -> Iterator[bytes]:
    text: bytes | None = None
    for entry in entries:
        text = after(journal, text, entry, name)
        if text is not None:
            yield text


def grown(journal: Journal, name: str, *, since: int, until: int | None = None) -> bytes | None:
    """What was appended to a document from a position on; None when it was changed otherwise."""
    pieces = []
    for entry in journal.entries(since=since):
        if until is not None and entry.position >= until:
            break
        for change in entry.changes:
            if change.document == name:
                if not isinstance(change, Append):
                    return None
                pieces.append(entry.appended(change))
    return b"".join(pieces)


def after(journal: Journal, text: bytes | None, entry: Entry, name: str) -> bytes | None:
    """What a document that said `text` says after an entry."""
    for change in entry.changes:
        if change.document == name:
            kept = journal.version(change.version) if isinstance(change, Text) else None
            text = applied(text, change, entry=entry, text=kept)
    return text
