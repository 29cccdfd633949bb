"""Takes back a change that could not be made whole, so that nothing of it ever appears.

What can't be taken back either is left for the next start to finish, and the error says so. It
works under the lock, from the entry that announced the change, which is the journal's last.
"""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.model.errors import CommonplaceError, ToBeFinished
from commonplace.storage.journal import Append, Entry, Journal, document_at
from commonplace.storage.vault import Moved, Vault

Texts = Mapping[str, tuple[bytes | None, bytes | None]]


def take_back(
    vault: Vault, journal: Journal, entry: Entry, error: Exception, *, texts: Texts
) -> None:
    """Leave no trace of an entry, or fail with `ToBeFinished`; `error` is what went wrong.

    `texts` are the whole texts it replaces, `{name: (before, after)}`.
    """
    try:
        # The journal last: who dies meanwhile leaves an entry to be finished, not a foreign line.
        for name, (before, after) in texts.items():
            _put_back(vault, name, before, after)
        moved = error.args if isinstance(error, Moved) else ()
        for change in entry.changes:
            if isinstance(change, Append) and change.document not in moved:
                _cut_off(vault, journal, entry, change)
        journal.take_back(entry.position)
    except (OSError, CommonplaceError, Moved):
        raise ToBeFinished(error) from error


def _put_back(vault: Vault, name: str, before: bytes | None, after: bytes | None) -> None:
    now = vault.read(name) if vault.stat(name) else None
    if before == after or now != after:
        return
    if before is None:
        vault.remove(name)
    else:
        vault.replace(name, before, expected=after)


def _cut_off(vault: Vault, journal: Journal, entry: Entry, change: Append) -> None:
    name = change.document
    if vault.stat(name) is None:
        return
    data, ours = vault.read(name), entry.appended(change)
    there = data[change.at :]
    if there != ours and there.startswith(ours):
        # Another program went on below it.
        vault.replace(name, data[: change.at] + there[len(ours) :], expected=data)
    elif not ours.startswith(there):
        return
    elif change.at == 0 and document_at(journal, name, until=entry.position) is None:
        vault.remove(name)
    elif there:
        vault.cut(name, at=change.at, size=len(data))
