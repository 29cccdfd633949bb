"""Every change to the documents of a vault: journalled, made, then indexed.

Whoever writes has the vault's lock, and has looked at the documents first (`DocumentWatch.look`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library.index_sync import IndexSync
from commonplace.library.record_reader import count_lines, decoded
from commonplace.library.shared import Shared
from commonplace.model.errors import CommonplaceError, DocumentFull
from commonplace.model.files import Known, Signature
from commonplace.model.records import SYSTEM, Author
from commonplace.storage.journal import Added, Append, Entry, Op, Text
from commonplace.storage.vault import Staged, Stat

if TYPE_CHECKING:
    from commonplace.library.placing import NewLine, Standing

PENDING = 64
"""Records that may wait for the next search before they are indexed."""

Texts = Mapping[str, tuple[bytes | None, bytes | None]]
"""Documents before and after a change; None where there is no document."""


class Writer:
    """Writes the documents of one vault, with their journal and index."""

    def __init__(self, shared: Shared, sync: IndexSync, *, document_limit: int) -> None:
        """`document_limit`: bytes that a document may have; 0: any number."""
        self.shared = shared
        self.sync = sync
        self.vault = shared.vault
        self.journal = shared.journal
        self.index = shared.index
        self.layout = shared.layout
        self.reader = shared.reader
        self.document_limit = document_limit
        self.check_growth: Callable[[str, str, str], None] | None = None
        """Refuses what makes a document too long, by its name and its text before and after."""
        self.unsettled = 0
        """Writes since the documents were last known to be on disk."""
        self._crlf: dict[str, bool] = {}

    def start_anew(self) -> None:
        """Let go of what is remembered of a change that never happened."""
        self._crlf.clear()

    def append(
        self,
        op: Op,
        text: tuple[str, ...],
        *,
        to: Sequence[str],
        author: Author,
        ids: tuple[str, ...] = (),
        data: Mapping[str, Any] | None = None,
        headed: bool = True,
    ) -> Entry:
        """Journal some lines and append them to each document: one record each, or any text.

        A new document gets its layout's header, unless it is not to be `headed`.
        """
        self.shared.check_writable()
        known = {name: self.sync.known_of(name) for name in to}
        if not ids:
            self.sync.catch_up_index()
        changes = [self._append_change(name, was, headed) for name, was in known.items()]
        new = self.shared.entry(
            op, changes, ids=ids, lines=text, author=author, data=dict(data or {})
        )
        return self._add(new, {}, known=known)

    def insert(
        self,
        op: Op,
        pieces: Iterable[NewLine],
        *,
        author: Author,
        data: Mapping[str, Any] | None = None,
    ) -> Entry:
        """Journal the lines of records and add each to its section, as one change."""
        from commonplace.library.placing import plan

        self.shared.check_writable()
        planned = plan(
            pieces,
            layout=self.layout,
            today=self.shared.clock.today(),
            standing=self._standing,
        )
        new = self.shared.entry(
            op,
            planned.changes,
            ids=planned.ids,
            lines=planned.lines,
            author=author,
            data=dict(data or {}),
        )
        known = {name: self.sync.known_of(name) for name in new.documents()}
        return self._add(new, planned.texts, known=known, anew=planned.anew)

    def _standing(self, name: str) -> Standing:
        from commonplace.library.placing import Standing

        known = self.sync.known_of(name)
        return (
            Standing(self.vault.read(name), known.signature.atime_ns)
            if known
            else Standing(None, 0)
        )

    def _add(
        self,
        new: Entry,
        texts: Texts,
        *,
        known: Mapping[str, Known | None],
        anew: Sequence[str] = (),
    ) -> Entry:
        """Journal an entry that adds lines, and add them.

        `texts` are its documents before and after it, where somebody has read them, `known` is how
        they look, and `anew` names those that are written anew.
        """
        for change in _added(new) if new.op != Op.PUT_BACK else ():
            was = known[change.document]
            size = (was.signature.size if was else 0) + len(new.appended(change))
            self._check_size(change.document, size)
        entry = self.journal.append(new)
        with self._whole(entry, {name: texts[name] for name in anew}):
            if anew:
                self.journal.sync()
            done = {name: self._put_anew(name, texts[name], entry) for name in anew}
            appends = [change for change in _added(entry) if change.document not in anew]
            done |= self._apply(entry, appends, known, texts)
        self.sync.progress.documents |= done
        self.sync.progress.end = entry.end
        # The record is safe; the index is behind and catches up when it can.
        with self.sync.telling():
            self._keep_up(entry)
        return entry

    def to_append(self, name: str) -> Append:
        """The change that appends an entry's lines to a document."""
        return self._append_change(name, self.sync.known_of(name), headed=True)

    def _append_change(self, name: str, known: Known | None, headed: bool) -> Append:
        if known is None:
            return Append(name, 0, self.layout.header(name) if headed else "")
        size, read = known.signature.size, known.signature.atime_ns
        if name in self.sync.progress.documents and name in self._crlf:
            return Append(name, size, "", read, self._crlf[name])
        tail = self.vault.tail(name, size=size)
        guard = "\n" if tail and not tail.endswith(b"\n") else ""
        self._crlf[name] = tail == b"\r\n"
        return Append(name, size, guard, read, self._crlf[name])

    def _check_size(self, name: str, size: int, *, before: int = 0) -> None:
        """Fail when a document would become longer than it may be; shorter it always may."""
        if self.document_limit and size > max(before, self.document_limit):
            raise DocumentFull(name, size=size, limit=self.document_limit)

    def _put_anew(self, name: str, texts: tuple[bytes | None, bytes | None], entry: Entry) -> Known:
        before, after = texts
        known = self._put(name, before, after or b"", entry, None)
        assert known is not None, "a document that lines were added to is there"
        return known if before is not None else replace(known, base=entry.position)

    def _apply(
        self,
        entry: Entry,
        changes: Sequence[Added],
        known: Mapping[str, Known | None],
        texts: Texts,
    ) -> dict[str, Known]:
        """Append to every document. Returns how they look then."""
        done: dict[str, Known] = {}
        for change in changes:
            name = change.document
            data, was = entry.appended(change), known[name]
            stat = self.vault.append(name, data, like=_stat_of(was.signature) if was else None)
            done[name] = Known(
                self.sync.signature(stat, size=change.at + len(data)),
                _lines_after(data, change, was, texts.get(name)),
                was.base if was else entry.position,
            )
        if not self.vault.transactional:
            self.sync.progress.unsettled |= dict.fromkeys(done, entry.position)
        self.unsettled += 1
        return done

    def _keep_up(self, entry: Entry) -> None:
        """Say how far the documents have come, and index the entry where that can't wait."""
        if not entry.ids:
            self._reindex(entry.changes[0].document)
            return
        self.sync.mark()
        if self.unsettled % PENDING == 0:
            self.sync.catch_up_index_soon()

    def _reindex(self, name: str) -> None:
        """Read a document of ours anew, when the appended text is not one record a line."""
        known = self.sync.progress.documents[name]
        parsed = self.reader.parse(name, decoded(name, self.vault.read(name)))
        self.sync.index_whole(name, parsed, replace(known, lines=parsed.lines))

    def replace_texts(self, entry: Entry, texts: Texts) -> Entry:
        """Journal a change of whole texts and make it so."""
        entry = self.write_texts(entry, texts)
        self.sync.mark_all_synced()
        return entry

    def write_texts(self, entry: Entry, texts: Texts) -> Entry:
        """The same, with the progress left behind: dying now, it would all be done again."""
        entry, looks = self._write(entry, texts)
        with self.sync.telling():
            for name, (_, after) in texts.items():
                self._index_text(name, after or b"", looks[name])
            for change in entry.changes:
                if isinstance(change, Append) and (known := looks[change.document]):
                    self.sync.index_moved(entry, change, known)
        return entry

    def replace_long_texts(
        self,
        entry: Entry,
        texts: Texts,
        *,
        written: Mapping[str, bytes],
        staged: Mapping[str, Staged],
    ) -> Entry:
        """As `replace_texts`, with the index left behind: without the lock, `level` is next.

        `written` are the long parts of the entry, and `staged` the texts, both made beforehand.
        """
        entry, looks = self._write(entry, texts, written=written, staged=staged)
        documents = {name: known for name, known in looks.items() if known}
        self.sync.mark(end=self.journal.end(), documents=documents, behind=entry.position)
        return entry

    def _write(
        self,
        entry: Entry,
        texts: Texts,
        *,
        written: Mapping[str, bytes] | None = None,
        staged: Mapping[str, Staged] | None = None,
    ) -> tuple[Entry, dict[str, Known | None]]:
        """Returns the entry, and how its documents look; None of one that is gone.

        The lines that go to other documents are appended first: that can be taken back.
        """
        self.shared.check_writable()
        self.sync.catch_up_index()
        appends = [change for change in entry.changes if isinstance(change, Append)]
        known = {change.document: self.sync.known_of(change.document) for change in appends}
        for change in appends:
            self._check_size(change.document, change.at + len(entry.appended(change)))
        for name, (before, after) in texts.items():
            self._check_size(name, len(after or b""), before=len(before or b""))
        entry = self.journal.append(entry, written=written)
        with self._whole(entry, texts):
            self.journal.sync()
            looks: dict[str, Known | None] = {**self._apply(entry, appends, known, {})}
            for name, (before, after) in texts.items():
                looks[name] = self._put(name, before, after, entry, (staged or {}).get(name))
        return entry, looks

    def _put(
        self,
        name: str,
        before: bytes | None,
        after: bytes | None,
        entry: Entry,
        staged: Staged | None,
    ) -> Known | None:
        """Write or remove a whole text. Returns how it looks."""
        if after is None:
            self.vault.remove(name)
            return None
        whole = any(isinstance(c, Text) and c.document == name for c in entry.changes)
        base = entry.position if whole else self.sync.base_of(name)
        known = self.sync.known_of(name)
        tells = known and not known.signature.racy and known.signature.size >= 0
        like = _stat_of(known.signature) if known and tells else None
        stat = self.vault.replace(name, after, expected=before, like=like, staged=staged)
        return Known(self.sync.signature(stat, after), count_lines(after), base)

    def _index_text(self, name: str, data: bytes, known: Known | None) -> None:
        if known is None:
            self.index.drop(name)
        else:
            parsed = self.reader.parse(name, decoded(name, data))
            self.index.put(name, self.reader.rows(parsed), known=known)

    @contextmanager
    def _whole(self, entry: Entry, texts: Texts | None = None) -> Iterator[None]:
        """Do all that an entry says, or nothing: a change that failed leaves no trace."""
        try:
            yield
        except Exception as error:
            if self.vault.transactional:
                # It never happened, once the lock is let go.
                raise
            from commonplace.library.recovery import take_back

            take_back(self.vault, self.journal, entry, error, texts=texts or {})
            # From now on look at the documents themselves.
            with suppress(CommonplaceError):
                self.sync.catch_up_index()
            for name in entry.documents():
                self.sync.progress.documents.pop(name, None)
            raise

    def mend(self, name: str, damaged: bytes, mended: bytes) -> Stat | None:
        """Put a mended text in place of a damaged one, which is kept; None in a read-only vault."""
        if self.shared.refusal:
            return None
        changes = [Text(name, self.journal.keep(text)) for text in (damaged, mended)]
        entry = self.journal.append(self.shared.entry(Op.MENDED, changes))
        with self._whole(entry, {name: (damaged, mended)}):
            self.journal.sync()
            return self.vault.replace(name, mended, expected=damaged)

    def put_back(self, name: str, lines: Sequence[tuple[str, str, str]]) -> None:
        """Add lines to a document again, `(id, line, kind)`, under the ids they have."""
        if not self.shared.refusal:
            # An outside save may end its lines otherwise.
            self._crlf.pop(name, None)
            self.add_again(Op.PUT_BACK, name, lines, author=SYSTEM)

    def add_again(
        self, op: Op, name: str, lines: Sequence[tuple[str, str, str]], *, author: Author
    ) -> None:
        """Add lines to a document that once stood in it: records to their sections, text below."""
        from commonplace.library.placing import lines_again

        records = [each for each in lines if each[0]]
        if records and self.layout.form(name) == "sentence":
            size = self.sync.known(name).signature.size
            again = lines_again(records, layout=self.layout, size=size)
            self.insert(op, again, author=author)
        elif records:
            ids, text = tuple(key for key, *_ in records), tuple(line for _, line, _ in records)
            self.append(op, text, to=(name,), ids=ids, author=author)
        if rest := tuple(line for key, line, _ in lines if not key):
            self.append(op, rest, to=(name,), author=author)

    def put_back_text(self, name: str, saved: bytes, merged: bytes) -> None:
        """Write a document as it was saved, together with the lines that the save overwrote."""
        if not self.shared.refusal and saved != merged:
            self._crlf.pop(name, None)
            entry = self.shared.entry(Op.PUT_BACK, [Text(name, self.journal.keep(merged))])
            self.replace_texts(entry, {name: (saved, merged)})


def _added(entry: Entry) -> list[Added]:
    """The changes of an entry that add lines."""
    return [change for change in entry.changes if isinstance(change, Added)]


def _lines_after(
    data: bytes,
    change: Added,
    was: Known | None,
    texts: tuple[bytes | None, bytes | None] | None,
) -> int:
    """How many lines a document has to which `data` was appended."""
    if texts:
        return count_lines(texts[1] or b"")
    lines = data.count(b"\n")
    # What comes before an append to a known document ends its last line.
    return was.lines + lines - change.lead.count("\n") if was else lines


def _stat_of(signature: Signature) -> Stat:
    return Stat(signature.size, signature.mtime_ns, signature.inode)
