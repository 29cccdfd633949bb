"""Rewrite a document: from the text that the writer had, merged with what others wrote since.

A rewrite that takes out more than may go unasked is refused until it is confirmed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property

from msgspec import Struct

from commonplace.library.documents import Written
from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.library.views import Given, View
from commonplace.markdown import documents
from commonplace.markdown import merge as merging
from commonplace.markdown.documents import Item, Parsed
from commonplace.model.errors import DocumentChanged, WouldLose
from commonplace.model.records import PASSAGE, Author, Origin, etag_of
from commonplace.storage.journal import Op
from commonplace.trust.neutralise import neutralise, one_line

WORD = re.compile(r"\w+")
GUARDRAIL = re.compile(
    r"(?i)\b(?:safety|guardrails?|rules?|instructions?|corrections?|never|always|forbidden)\b"
)
"""The headings of sections of which no line goes unasked."""
GUARDED_KINDS = frozenset(("instruction", "correction"))
WHOLE = ""
"""In place of a section's title: the whole document."""

Rewording = Callable[[str], str]
"""A change of a document's text."""


class Rewrite(Struct, frozen=True):
    """A new text of a document, or a change of the old one, and who brings it."""

    name: str
    change: str | Rewording
    author: Author
    etag: str = ""
    """The mark of the text that it was made from."""
    confirm: str = ""
    strict: bool = False
    """Whether changes to the same lines are refused; else both are kept."""
    view: View | None = None
    """What the writer was shown; None of a person, who sees the document."""
    afresh: bool = False
    """Whether it is a change of the text as it is then, whatever the writer was shown."""


class _Made(Struct, frozen=True):
    """A new text, the writer's own part in it, and how it came about."""

    text: str
    own: str
    merged: bool = False
    conflicts: int = 0


class Loss(Struct, frozen=True, dict=True):
    """What one text has and another lacks."""

    before: str
    after: str
    was: Parsed
    now: Parsed

    @cached_property
    def gone(self) -> list[Item]:
        """The entries that are gone rather than said in other words.

        Most of what tells such an entry from the others that go is in nothing that is new.
        """
        going = self._without_ids()
        had = {item.record.id for item in self.was.items}
        fresh = (item.record.text for item in self.now.items if item.record.id not in had)
        told = {word for text in fresh for word in _words(text)}
        often = Counter(word for item in going for word in _words(item.record.text))
        return [item for item in going if _is_lost(item, told, often)]

    def _without_ids(self) -> list[Item]:
        gone = {record.id for record in documents.dropped(self.was, self.now)}
        return [item for item in self.was.items if item.record.id in gone]

    @cached_property
    def guarded(self) -> list[str]:
        """Every line that goes, or reads otherwise, of a guardrail, instruction or correction."""
        there = {line for item in self.now.items for line in _lines(item)}
        there.update(" ".join(section.title.split()) for section in documents.sections(self.after))
        return [
            line
            for item in self.was.items
            if self._is_guarded(item)
            for line in _lines(item)
            if line not in there
        ]

    def _is_guarded(self, item: Item) -> bool:
        return item.record.kind in GUARDED_KINDS or any(
            GUARDRAIL.search(section.title)
            for section in self._sections
            if section.start <= item.start < section.end
        )

    @cached_property
    def _sections(self) -> tuple[documents.Section, ...]:
        return documents.sections(self.before)

    def _counted(self, items: list[Item] | tuple[Item, ...]) -> Counter[str]:
        """How many there are in the whole, and in each section right below its heading."""
        counts = Counter({WHOLE: len(items)})
        for item in items:
            above = [s for s in self._sections if s.start <= item.start < s.end]
            if above:
                counts[above[-1].title] += 1
        return counts

    @cached_property
    def lost(self) -> Counter[str]:
        """How many entries are gone, in the whole and by section."""
        return self._counted(self.gone)

    def exceeds(self, share: float, earlier: Mapping[str, int]) -> bool:
        """Whether more goes, of the whole or of a section, with what went earlier."""
        there = self._counted(self.was.items)
        return any(
            lost + earlier.get(where, 0) > share * (there[where] + earlier.get(where, 0))
            for where, lost in self.lost.items()
            if lost
        )

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """What goes, each in a line as it may be shown."""
        gone = (line for item in self.gone for line in _lines(item))
        return tuple(dict.fromkeys(map(one_line, (*gone, *self.guarded))))


def rewrite(library: Library, wanted: Rewrite) -> Written:
    """Put a whole new text in place, merged with what others wrote since it was read."""
    return library.locked(lambda: _rewrite(library, wanted))


def _rewrite(library: Library, wanted: Rewrite) -> Written:
    name = wanted.name
    now = library.vault.read(name) if library.look(name) else None
    before = decoded(name, now or b"")
    given = _given(wanted)
    made = _made(library, wanted, given, now)
    if made.conflicts and wanted.strict:
        raise DocumentChanged(name, etag_of(now or b""))
    after = library.tombstones.without_returning(name, made.text, before)
    new = after.encode()
    library.tombstones.refuse_forgotten({name: (now, new)}, author=wanted.author)
    if library.writer.check_growth:
        library.writer.check_growth(name, before, after)
    loss = Loss(before, after, library.parse(name, before), library.parse(name, after))
    asked = _check_loss(library, wanted, loss, is_seen=now is None or given is not None)
    data = library.documents.provenance(name, before, after, wanted.author)
    library.documents.put_text(Op.REPLACE, name, now, new, author=wanted.author, data=data)
    if wanted.view:
        _note(library, wanted.view, wanted, made, loss, was=now, asked=asked)
    etag = etag_of(library.vault.read(name))
    return Written(name, etag, made.merged, made.conflicts, loss.dropped)


def _given(wanted: Rewrite) -> Given | None:
    """The text that the rewrite was made from, as far as that is known."""
    if wanted.etag:
        return Given(wanted.etag)
    return wanted.view.given(wanted.name) if wanted.view and not wanted.afresh else None


def _made(library: Library, wanted: Rewrite, given: Given | None, now: bytes | None) -> _Made:
    name, author = wanted.name, wanted.author
    was = decoded(name, now or b"")
    current = library.layout.header(name) if now is None else was
    base = _base(library, wanted, given, now) if given and now is not None else None
    begun = current if base is None else base
    own = wanted.change if isinstance(wanted.change, str) else wanted.change(begun)
    if author.origin == Origin.OWNER:
        if base is None or base == current:
            return _Made(own, own)
        merge = merging.merge(base, own, current)
        return _Made(merge.text, own, merged=True, conflicts=merge.conflicts)
    own = documents.with_data(own, begun)
    if base is None:
        text = library.documents.with_secrets(
            name, was, library.documents.disarmed(name, was, own, author)
        )
        return _Made(text, own)
    merge = merging.merge(base, own, current)
    merged = base != library.documents.without_secrets(name, current)
    text = library.documents.disarmed(name, was, merge.text, author)
    return _Made(text, own, merged=merged, conflicts=merge.conflicts)


def _base(library: Library, wanted: Rewrite, given: Given, now: bytes) -> str:
    """What the writer was shown of the text that it was given."""
    name = wanted.name
    data = now if etag_of(now) == given.etag else library.documents.text_marked(name, given.etag)
    if data is None:
        raise DocumentChanged(name, etag_of(now))
    text = decoded(name, data)
    if wanted.author.origin != Origin.OWNER:
        text = library.documents.without_secrets(name, text)
    if given.shown is None:
        return text
    items = library.parse(name, text).items
    return documents.strike(
        text, ((item.start, item.end) for item in items if item.record.id not in given.shown)
    )


def _check_loss(library: Library, wanted: Rewrite, loss: Loss, *, is_seen: bool) -> bool:
    """Fail when it takes out what may not go unasked. Returns whether that was confirmed."""
    what = _objection(library, wanted, loss, is_seen=is_seen or wanted.afresh)
    if not what:
        return False
    name, before, after = wanted.name, loss.before, loss.after
    token = etag_of("\0".join((name, before, after)).encode())[:8]
    if wanted.confirm == token:
        return True
    if wanted.author.origin != Origin.OWNER:
        before, after = (library.documents.without_secrets(name, text) for text in (before, after))
    diff = neutralise(merging.diff(before, after))
    raise WouldLose(name, what=what, diff=diff, token=token, guarded=bool(loss.guarded))


def _objection(library: Library, wanted: Rewrite, loss: Loss, *, is_seen: bool) -> str:
    """What of the loss needs a confirmation; empty when nothing does."""
    name, layout, view = wanted.name, library.layout, wanted.view
    # Those are living documents, rewritten whole by whoever keeps them.
    is_living = name in (layout.soul, layout.user, layout.status)
    of = f"{len(loss.gone)} of its {len(loss.was.items)} entries"
    if view is None:
        too_much = len(loss.gone) > library.lose_share * len(loss.was.items)
        return of if too_much and not is_living else ""
    if loss.guarded:
        lines = "1 line" if len(loss.guarded) == 1 else f"{len(loss.guarded)} lines"
        return f"{lines} of its guardrails, instructions or corrections"
    if loss.gone and view.is_named and not is_seen and library.lose_share < 1:
        return f"{of}, and this session has not read it"
    earlier = view.lost(name)
    if is_living or not loss.exceeds(library.lose_share, earlier):
        return ""
    return f"{of}, after {earlier[WHOLE]} that this session dropped before" if earlier else of


def _note(
    library: Library,
    view: View,
    wanted: Rewrite,
    made: _Made,
    loss: Loss,
    *,
    was: bytes | None,
    asked: bool,
) -> None:
    """Remember what the session dropped, and what it knows of the document from now on."""
    name = wanted.name
    if asked:
        view.settle(name)
    else:
        view.lose(name, loss.lost)
    if wanted.afresh:
        # It knows the new text if it knew the old one.
        if was is None or view.given(name) == Given(etag_of(was)):
            view.give(name, Given(etag_of(library.vault.read(name))))
    else:
        # What others wrote it has not seen.
        view.give(name, Given(library.journal.keep(made.own.encode())))


def _is_lost(item: Item, told: set[str], often: Counter[str]) -> bool:
    words = _words(item.record.text)
    own = {word for word in words if often[word] == 1} or words
    return len(own & told) < len(own) / 2 or not own


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def _lines(item: Item) -> list[str]:
    """An entry as it is compared: a record is one line, prose has several."""
    text = item.record.text[item.headings :]
    parts = text.split("\n") if item.record.kind == PASSAGE else [text]
    return [line for part in parts if (line := " ".join(part.split()))]
