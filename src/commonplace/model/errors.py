"""Every error a caller can meet, each with its exit code, HTTP status and next step.

The same sentence serves CLI, MCP, HTTP and Python. An error that only one place raises, and that
nobody catches by its name, is its parent with a sentence of its own.

    CommonplaceError
    ├── BadInput              2  400   the call itself is wrong
    │   ├── BadValue                   one argument is not what it must be
    │   ├── BadName                    a document name outside the vault's grammar
    │   └── BadOption                  an unknown option, a value it does not take, or no TOML
    ├── NotFound              3  404   what was asked for is not there
    │   ├── NoSuchVault
    │   ├── NoSuchDocument
    │   ├── NoSuchRecord
    │   └── NothingToUndo              no change, or no undo, that can be taken back
    ├── Conflict              4  409   it changed meanwhile, or a person must confirm
    │   ├── DocumentChanged      412
    │   ├── WouldLose                  a rewrite that drops much, without its confirm token
    │   └── AlreadyExists
    ├── Refused               5  403   allowed in principle, not to this caller or not now
    │   ├── BudgetSpent          429
    │   ├── QuotaSpent           507   a tenant has all the records or bytes that it may have
    │   ├── TenantClosed               a tenant is suspended, or has moved
    │   ├── DocumentFull         507   a document would become longer than documents may be
    │   ├── Paused                     memory is paused: nothing is recorded or told
    │   ├── SecretFound                the text holds a secret and the vault refuses those
    │   └── HeldForReview        202   it waits until a person approves it
    ├── VaultTrouble          6  500   a disk, a file or a port does not do what it should
    │   ├── Unreadable                 a document that is there but cannot be read
    │   │   └── NoDirectory            … because what should be its directory is none
    │   ├── StrangeFile                a machine file that is a link, or somebody else's
    │   ├── ReadOnly             503
    │   ├── DatabaseTrouble            PostgreSQL answers with an error
    │   │   └── NoServer         503   … or gives us no connection
    │   ├── DiskFull             507
    │   ├── CutShort             503   the process that did it ended before it was done
    │   ├── ToBeFinished         503   it could be neither done nor taken back yet
    │   └── Busy                 503   another process holds the lock too long
    ├── MissingExtra          7  501   the door or engine asked for needs an extra package
    ├── BadModel              8  503   the files of an encoder are not there, or cannot be used
    ├── NoAnswer              8  502   a hub or an endpoint does not give what an encoder needs
    └── SummarizerFailed      9  502   the program or endpoint that sums up records failed
"""

from __future__ import annotations

from collections.abc import Sequence


class CommonplaceError(Exception):
    """An error that writes its own sentence."""

    exit_code = 1
    status = 500

    def __init__(self, what: str, *, next_step: str = "") -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(f"{what} {next_step}".strip())


class BadInput(CommonplaceError):
    """The call itself is wrong."""

    exit_code = 2
    status = 400


class BadValue(BadInput):
    """One argument is not what it must be."""

    def __init__(self, argument: str, problem: str, *, next_step: str) -> None:
        self.argument = argument
        super().__init__(f"{argument}: {problem}.", next_step=next_step)


class BadName(BadInput):
    """A document name outside the vault's grammar."""

    def __init__(
        self,
        name: str,
        problem: str,
        *,
        next_step: str = "Use a relative path of plain names that ends in .md, such as home.md.",
    ) -> None:
        what = f"{name!r} is not a document of this vault: {problem}."
        super().__init__(what, next_step=next_step)


class BadOption(BadInput):
    """An unknown option, a value it does not take, or a file of options that is no TOML."""

    def __init__(self, option: str, problem: str, *, source: str) -> None:
        """`option` is empty where the whole file cannot be read."""
        self.option = option
        self.problem = problem
        super().__init__(
            f"Option {option} ({source}): {problem}."
            if option
            else f"{source} cannot be read as options: {problem}. Mend it in an editor.",
            next_step="'commonplace status --options' lists every option with what it takes.",
        )


class NotFound(CommonplaceError):
    """What was asked for is not there."""

    exit_code = 3
    status = 404


class NoSuchVault(NotFound):
    """There is no vault at the path."""

    def __init__(self, path: str, *, dialect: str = "") -> None:
        self.path = path
        command = f"commonplace --dialect {dialect} init" if dialect else "commonplace init"
        super().__init__(
            f"There is no vault at {path}.", next_step=f"'{command} {path}' makes one."
        )


class NoSuchDocument(NotFound):
    """A well-formed name with no document behind it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no document {name}.",
            next_step="'commonplace read' lists the documents of the vault.",
        )


class NoSuchRecord(NotFound):
    """A record id that is not, or no longer, in the vault."""

    def __init__(
        self, record_id: str, *, said_in: Sequence[str] = (), now: Sequence[str] = ()
    ) -> None:
        """`said_in` are documents with such prose, `now` records that were once worded so."""
        what, step = "", "Search for it first and use the id of a result."
        if said_in:
            what, step = f" {', '.join(said_in)} says it as prose.", "Change the document itself."
        if now:
            what = f" It is an earlier wording of {', '.join(now)}."
            step = f"'commonplace forget {now[0]}' erases all that it ever said."
        super().__init__(f"There is no record {record_id}.{what}", next_step=step)


class NothingToUndo(NotFound):
    """The journal holds no change, or no undo, that can be taken back."""

    def __init__(
        self,
        why: str,
        *,
        wanted: str = "undone",
        next_step: str = "'commonplace log' lists the changes.",
    ) -> None:
        super().__init__(f"Nothing was {wanted}: {why}.", next_step=next_step)


class Conflict(CommonplaceError):
    """It changed meanwhile, or a person must confirm."""

    exit_code = 4
    status = 409


class DocumentChanged(Conflict):
    """The text the caller read is no longer the text that is there."""

    status = 412

    def __init__(self, name: str, etag: str) -> None:
        self.etag = etag
        super().__init__(
            f"{name} changed since it was read (it is now {etag}) and the two changes touch the "
            "same lines.",
            next_step="Read it again, apply the change to that text and send it with the new etag.",
        )


class RecordChanged(Conflict):
    """The record that the caller read is no longer the record that is there."""

    status = 412

    def __init__(self, record_id: str) -> None:
        self.id = record_id
        super().__init__(
            f"{record_id} was changed since it was read.",
            next_step="Read it again, and make the change to that text.",
        )


class WouldLose(Conflict):
    """A rewrite would drop records, and nobody has confirmed that."""

    def __init__(
        self, name: str, *, what: str, diff: str, token: str, guarded: bool, how: str = ""
    ) -> None:
        self.diff = diff
        self.token = token
        self.guarded = guarded
        """Whether guardrails, instructions or corrections are among it."""
        self._told = name, what
        how = how or f"repeat the call with confirm={token!r}"
        super().__init__(
            f"This rewrite of {name} would drop {what}:\n{diff}\n",
            next_step=f"Keep them, or {how} to drop them.",
        )

    def to_repeat(self) -> WouldLose:
        """The same, for a tool that takes no token: to ask again confirms it."""
        name, what = self._told
        told = {"what": what, "diff": self.diff, "token": self.token, "guarded": self.guarded}
        return WouldLose(name, **told, how="make the same call again")  # type: ignore[arg-type]


class AlreadyExists(Conflict):
    """Something of that name is there already."""

    def __init__(self, name: str, *, next_step: str) -> None:
        super().__init__(f"{name} is there already.", next_step=next_step)


class Refused(CommonplaceError):
    """Allowed in principle, not to this caller or not now."""

    exit_code = 5
    status = 403


class BudgetSpent(Refused):
    """A session has used up its share of one kind of write."""

    status = 429

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"This session has used its {limit} {what}.",
            next_step="Leave the rest for another session; searching and reading still work.",
        )


class QuotaSpent(Refused):
    """A tenant has all the records or bytes that it may have."""

    status = 507

    def __init__(self, name: str, what: str, *, there: int, most: int) -> None:
        super().__init__(
            f"The memory {name} would have {there:,} {what}, and may have {most:,}. Nothing was "
            "changed.",
            next_step="Remove memories that are not needed, or ask who runs its database for more "
            f"('commonplace tenants URL quota {name} --{what} N').",
        )


class TenantClosed(Refused):
    """A tenant is suspended, or has moved."""

    def __init__(self, name: str, *, moved: bool = False) -> None:
        what = "has moved to another database" if moved else "is suspended"
        undone = (
            "knows its new place" if moved else f"opens it ('commonplace tenants URL open {name}')"
        )
        super().__init__(
            f"The memory {name} {what}: nothing is read or written.",
            next_step=f"Ask who runs its database, who {undone}.",
        )


class DocumentFull(Refused):
    """A write would make a document longer than the limit."""

    status = 507

    def __init__(self, name: str, *, size: int, limit: int) -> None:
        super().__init__(
            f"{name} would be {megabytes(size)} long, and a document has at most "
            f"{megabytes(limit)}. Nothing was changed.",
            next_step="Let old records become summaries ('commonplace compact --force'), move some "
            "of it into documents of their own, or raise the option document_limit.",
        )


def megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size:,} bytes"


class Paused(Refused):
    """Memory is paused: nothing is recorded or told."""

    def __init__(self, *, session: str = "", outside: bool = False) -> None:
        ends = "The person ends it with 'commonplace resume'."
        if outside:
            ends = "It was started with COMMONPLACE_PAUSED set."
        super().__init__(
            f"Memory is paused{' for this session' if session else ''}: nothing is recorded or "
            "told.",
            next_step=f"Go on without it. {ends}",
        )


class SecretFound(Refused):
    """The text holds a secret, and the vault refuses secrets."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"The text holds what looks like a secret ({', '.join(names)}).",
            next_step="Leave the secret out and say where it is kept instead.",
        )


class HeldForReview(Refused):
    """A memory that comes from outside, or was forgotten, waits until a person approves it."""

    status = 202

    def __init__(
        self, record_id: str, *, forgotten: str = "", document: str = "", told: str = ""
    ) -> None:
        """`forgotten` is the day on which the owner forgot the text, if that is why it waits.

        `document` is what it is for, and `told` what was written there in the user's own words.
        """
        self.record_id = record_id
        self.told = told
        why = "This tells agents how to behave and may come from untrusted text"
        if document:
            why = f"{document} tells agents who they are and what to do"
        if told:
            why += f". It was kept there in the user's words: {told}"
        if forgotten:
            why = f"The owner forgot this on {forgotten}"
        super().__init__(
            f"{why}; your wording waits for the user's approval as {record_id}."
            if told
            else f"{why}, so it waits for the user's approval as {record_id}.",
            next_step="Go on without it; the user sees it with 'commonplace review'.",
        )


class VaultTrouble(CommonplaceError):
    """A disk, a file or a port does not do what it should."""

    exit_code = 6
    status = 500


MEND = (
    "Mend the file (save it as UTF-8, give permission to read it, or put a plain file there), "
    "then run 'commonplace doctor'."
)


class Unreadable(VaultTrouble):
    """A document that is there but cannot be read: it is no text, or too long."""

    def __init__(self, name: str, why: str, *, next_step: str = MEND) -> None:
        super().__init__(f"{name} cannot be read: {why}. Nothing was changed.", next_step=next_step)


class NoDirectory(Unreadable):
    """A link or a file stands where a document's directory should be."""

    def __init__(self, name: str, *, place: str, why: str) -> None:
        self.place, self.why = place, why
        VaultTrouble.__init__(
            self,
            f"{name} cannot be reached: {place} {why}. Nothing was changed.",
            next_step=f"Move {place} away, put a directory of that name into the vault, and what "
            "it led to into that directory.",
        )


class StrangeFile(VaultTrouble):
    """A file of the machine's own that is a link, has other names, or is somebody else's."""

    def __init__(self, path: str, flaw: str) -> None:
        super().__init__(
            f"{path} is not used: {flaw}. Nothing was changed.",
            next_step="Look at what it is, and delete it; 'commonplace doctor' names others.",
        )


class ReadOnly(VaultTrouble):
    """The vault, its state directory or its database does not take writes."""

    status = 503

    def __init__(
        self,
        path: str,
        *,
        next_step: str = "Give this user write permission, "
        "or set state_dir to a place that has it.",
    ) -> None:
        super().__init__(f"{path} cannot be written. Nothing was changed.", next_step=next_step)


class DatabaseTrouble(VaultTrouble):
    """PostgreSQL answers with an error."""

    def __init__(self, where: str, said: str, *, next_step: str) -> None:
        super().__init__(f"{where} says: {said}. Nothing was changed.", next_step=next_step)


class NoServer(DatabaseTrouble):
    """PostgreSQL is not there or does not let us in, or our connections are all in use."""

    status = 503

    def __init__(self, where: str, said: str, *, next_step: str) -> None:
        super().__init__(where, f"no connection ({said})", next_step=next_step)


class DiskFull(VaultTrouble):
    """No space left where the journal or the documents are."""

    status = 507

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The disk is full: nothing more can be written to {path}. What was stored is safe.",
            next_step="Free some space and store it again.",
        )


class Busy(VaultTrouble):
    """Another process holds the lock too long."""

    status = 503

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"Another process has held {path} for over {seconds:.0f} s. Nothing was changed.",
            next_step="Try again; 'commonplace doctor' names the process.",
        )


class CutShort(VaultTrouble):
    """A process ended before its job was done."""

    status = 503

    def __init__(self, how: str) -> None:
        super().__init__(
            f"The process that did this ended before it was done: {how}.",
            next_step="What it had begun mends itself; 'commonplace upkeep --once' runs it again.",
        )


class ToBeFinished(VaultTrouble):
    """The disk failed during a change and again while the change was taken back."""

    status = 503

    def __init__(self, error: Exception) -> None:
        what = error.what if isinstance(error, CommonplaceError) else f"The disk fails: {error}."
        super().__init__(
            f"{what.removesuffix(' Nothing was changed.')} What was begun could not be taken back: "
            "it will be finished at the next start.",
            next_step="Do not repeat it. Look after the disk, then run 'commonplace doctor'.",
        )


class SummarizerFailed(CommonplaceError):
    """The program or endpoint that sums up records failed."""

    exit_code = 9
    status = 502

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"The summarizer failed: {why}.",
            next_step="The extractive one is used in its place; see the summarizer options.",
        )


class MissingExtra(CommonplaceError):
    """The door or engine asked for needs an extra package."""

    exit_code = 7
    status = 501

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the extra '{extra}'.",
            next_step=f"pip install 'commonplace-memory[{extra}]'",
        )


class BadModel(CommonplaceError):
    """The files of an encoder are not there, or cannot be used."""

    exit_code = 8
    status = 503

    def __init__(
        self,
        path: str,
        problem: str,
        *,
        next_step: str = "Put a whole copy in its place, or set encoder to 'static'.",
    ) -> None:
        super().__init__(f"The model {path} cannot be used: {problem}.", next_step=next_step)


class NoAnswer(CommonplaceError):
    """A hub does not give a model, or an endpoint no vectors."""

    exit_code = 8
    status = 502

    def __init__(
        self,
        url: str,
        problem: str,
        *,
        wanted: str = "vectors",
        next_step: str = "Look at encoder_url, encoder_model and the key, "
        "or set encoder to 'static'.",
    ) -> None:
        super().__init__(f"{url} gave no {wanted}: {problem}.", next_step=next_step)
