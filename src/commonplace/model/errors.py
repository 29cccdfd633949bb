"""Every error a caller can meet, each with its exit code, HTTP status and next step.

The same sentence serves CLI, MCP, HTTP and Python. An error that only one place raises, and that
nobody catches by its name, is its parent with a sentence of its own.

    CommonplaceError
    ├── BadInput              2  400   the call itself is wrong
    │   ├── BadValue                   one argument is not what it must be
    │   │   └── TooLong                … because it is too long
    │   ├── BadName                    a document name outside the vault's grammar
    │   ├── BadStatement               SQL that is wrong, or more than a question
    │   ├── BadOption                  an unknown option or a value it does not take
    │   │   └── BrokenOptions          … or a file of options that is no TOML
    │   ├── UnknownTool                no tool of that name in the dialect
    │   └── UnknownDialect             no dialect of that name
    ├── NotFound              3  404   what was asked for is not there
    │   ├── NoSuchVault
    │   ├── NoSuchDocument
    │   ├── NoSuchRecord
    │   ├── NotWaiting                 a record that waits for no approval
    │   ├── NothingToUndo
    │   └── NothingToRedo
    ├── Conflict              4  409   it changed meanwhile, or a person must confirm
    │   ├── DocumentChanged      412
    │   ├── WouldLose                  a rewrite that drops much, without its confirm token
    │   ├── AlreadyExists
    │   └── AlreadyReplaced            a record that another one has replaced meanwhile
    ├── Refused               5  403   allowed in principle, not to this caller or not now
    │   ├── BudgetSpent          429
    │   ├── TooSlow                    a question in SQL that takes too long
    │   ├── DocumentFull         507   a document would become longer than documents may be
    │   ├── SecretFound                the text holds a secret and the vault refuses those
    │   └── HeldForReview        202   it waits until a person approves it
    ├── VaultTrouble          6  500   the disk or the files do not do what they should
    │   ├── Unreadable                 a document that is there but cannot be read
    │   │   ├── TooBig                 … because it is too long
    │   │   └── NoDirectory            … because what should be its directory is none
    │   ├── StrangeFile                a machine file that is a link, or somebody else's
    │   ├── ReadOnly             503
    │   ├── DatabaseTrouble            PostgreSQL answers with an error
    │   │   ├── NoServer         503   … or does not let us in
    │   │   ├── ReadOnlyDatabase 503   … or is a replica that takes no writes
    │   │   └── PoolFull         503   … or all our connections are in use
    │   ├── DiskFull             507
    │   ├── CutShort             503   the process that did it ended before it was done
    │   ├── ToBeFinished         503   it could be neither done nor taken back yet
    │   └── Busy                 503   another process holds the lock too long
    ├── CannotListen          6  503   a port is taken, or not ours to take
    ├── MissingExtra          7  501   the door or engine asked for needs an extra package
    ├── EncoderTrouble        8  503   there are no vectors of the encoder asked for
    │   ├── NoSuchModel                its files are not where they should be
    │   ├── BadModel                   its files cannot be used
    │   ├── NoHub                502   they cannot be fetched
    │   └── NoAnswer             502   the endpoint does not answer as it should
    └── SummarizerFailed      9  502   who was to sum up records did not
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


SPLIT = "Write a shorter, self-contained summary, or split it into several records."
FEWER = "Ask with fewer words: those that tell most."


class TooLong(BadValue):
    """One argument is longer than it may be."""

    def __init__(self, argument: str, *, length: int, limit: int, next_step: str = "") -> None:
        super().__init__(
            argument,
            f"{length:,} characters, and at most {limit:,} are taken",
            next_step=next_step or (FEWER if argument == "query" else SPLIT),
        )


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


class BadStatement(BadInput):
    """SQL that is wrong, or that does more than ask."""

    def __init__(self, problem: str, *, views: str) -> None:
        super().__init__(
            f"The statement was not run: {problem.rstrip('.')}.",
            next_step=f"Ask with one SELECT over {views}.",
        )


class BadOption(BadInput):
    """An unknown option or a value it does not take."""

    def __init__(self, option: str, problem: str, *, source: str) -> None:
        self.option = option
        self.problem = problem
        super().__init__(
            f"Option {option} ({source}): {problem}.",
            next_step="'commonplace status --options' lists every option with what it takes.",
        )


class BrokenOptions(BadOption):
    """A file of options that is no TOML."""

    def __init__(self, path: str, problem: str) -> None:
        BadInput.__init__(
            self,
            f"{path} cannot be read as options: {problem}.",
            next_step="Mend it in an editor; "
            "'commonplace status --options' lists every option with what it takes.",
        )


class UnknownTool(BadInput):
    """No tool of that name in the dialect."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no tool {name!r} here.", next_step=f"Use {', '.join(known)}.")


class UnknownDialect(BadInput):
    """No dialect of that name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no dialect {name!r}.", next_step=f"Use {', '.join(known)}.")


class NotFound(CommonplaceError):
    """What was asked for is not there."""

    exit_code = 3
    status = 404


class NoSuchVault(NotFound):
    """Nothing at the path a vault was looked for."""

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


class NotWaiting(NotFound):
    """Ids of records that do not, or no longer, wait for a person's approval."""

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__(
            f"Nothing waits for approval as {', '.join(ids)}; nothing was decided.",
            next_step="'commonplace review' lists what waits.",
        )


class NothingToUndo(NotFound):
    """The journal holds no change that can be taken back."""

    def __init__(self, why: str, *, next_step: str = "") -> None:
        super().__init__(
            f"Nothing was undone: {why}.",
            next_step=next_step or "'commonplace log' lists the changes.",
        )


class NothingToRedo(NotFound):
    """The journal holds no undo that can be taken back."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Nothing was redone: {why}.", next_step="'commonplace log' lists the changes."
        )


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


class WouldLose(Conflict):
    """A rewrite that drops what the vault does not let go unasked."""

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


class AlreadyReplaced(Conflict):
    """A record that was replaced by another one in the meantime."""

    def __init__(self, record_id: str, *, by: str) -> None:
        super().__init__(
            f"{record_id} was replaced already, by {by}.",
            next_step=f"Read {by}; if it is wrong too, supersede {by}.",
        )


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


class TooSlow(Refused):
    """A question in SQL that takes too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The statement took over {seconds:g} s and was stopped.",
            next_step="Ask for less: fewer rows, a WHERE on session or time, no cross joins.",
        )


class DocumentFull(Refused):
    """A document would become longer than documents may be."""

    status = 507

    def __init__(self, name: str, *, size: int, limit: int) -> None:
        super().__init__(
            f"{name} would be {_megabytes(size)} long, and a document has at most "
            f"{_megabytes(limit)}. Nothing was changed.",
            next_step="Let old records become summaries ('commonplace compact --force'), move some "
            "of it into documents of their own, or raise the option document_limit.",
        )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size:,} bytes"


class SecretFound(Refused):
    """The text holds a secret and the vault refuses those."""

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
    """The disk or the files do not do what they should."""

    exit_code = 6
    status = 500


class Unreadable(VaultTrouble):
    """A document that is there but cannot be read as text."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"{name} cannot be read: {why}. Nothing was changed.",
            next_step="Mend the file (save it as UTF-8, give permission to read it, or put a plain "
            "file there), then run 'commonplace doctor'.",
        )


class TooBig(Unreadable):
    """A document that is longer than documents are read."""

    def __init__(self, name: str, *, size: int, limit: int) -> None:
        VaultTrouble.__init__(
            self,
            f"{name} is left out: it is {_megabytes(size)} long, and documents are read up to "
            f"{_megabytes(limit)}.",
            next_step="Split it into several documents, or raise the option document_limit.",
        )


class NoDirectory(Unreadable):
    """A document in what is no directory of the vault: a link, or a file."""

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
    """The vault or its state directory does not take writes."""

    status = 503

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path} cannot be written. Nothing was changed.",
            next_step="Give this user write permission, or set state_dir to a place that has it.",
        )


class DatabaseTrouble(VaultTrouble):
    """PostgreSQL answers with an error."""

    def __init__(self, where: str, said: str, *, next_step: str) -> None:
        super().__init__(f"{where} says: {said}. Nothing was changed.", next_step=next_step)


class NoServer(DatabaseTrouble):
    """PostgreSQL is not there, or does not let us in."""

    status = 503

    def __init__(self, where: str, said: str, *, next_step: str) -> None:
        super().__init__(where, f"no connection ({said})", next_step=next_step)


class ReadOnlyDatabase(DatabaseTrouble):
    """The database takes no writes."""

    status = 503

    def __init__(self, where: str) -> None:
        super().__init__(
            where,
            "it takes no writes, as a replica does",
            next_step="Name the primary server in the URL.",
        )


class PoolFull(DatabaseTrouble):
    """All connections of this process are in use."""

    status = 503

    def __init__(self, where: str, size: int, seconds: float) -> None:
        super().__init__(
            where,
            f"all {size} connections of this process have been in use for {seconds:.0f} s",
            next_step="Try again, or do less at the same time.",
        )


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
    """The process that did it ended before it was done."""

    status = 503

    def __init__(self, how: str) -> None:
        super().__init__(
            f"The process that did this ended before it was done: {how}.",
            next_step="What it had begun mends itself; 'commonplace upkeep --once' runs it again.",
        )


class ToBeFinished(VaultTrouble):
    """The disk failed in the middle of a change, and at taking it back."""

    status = 503

    def __init__(self, error: Exception) -> None:
        what = error.what if isinstance(error, CommonplaceError) else f"The disk fails: {error}."
        super().__init__(
            f"{what.removesuffix(' Nothing was changed.')} What was begun could not be taken back: "
            "it will be finished at the next start.",
            next_step="Do not repeat it. Look after the disk, then run 'commonplace doctor'.",
        )


class SummarizerFailed(CommonplaceError):
    """The program or endpoint that was to sum up records did not."""

    exit_code = 9
    status = 502

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(
            f"The summarizer failed: {why}.",
            next_step="The extractive one is used in its place; see the summarizer options.",
        )


class CannotListen(CommonplaceError):
    """A port is taken, or not ours to take."""

    exit_code = 6
    status = 503

    def __init__(self, host: str, port: int, why: OSError) -> None:
        super().__init__(
            f"Nothing can be served at {host}:{port}: {(why.strerror or str(why)).lower()}.",
            next_step="If a gateway runs there already, 'commonplace serve --link' prints a link "
            "to it; else choose another port.",
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


class EncoderTrouble(CommonplaceError):
    """There are no vectors of the encoder asked for."""

    exit_code = 8
    status = 503


class NoSuchModel(EncoderTrouble):
    """The files of a model are not where they should be."""

    def __init__(self, encoder: str, path: str) -> None:
        super().__init__(
            f"The encoder {encoder} finds no model at {path}.",
            next_step="Set encoder_path to where it is, or encoder to 'static'.",
        )


class BadModel(EncoderTrouble):
    """The files of a model cannot be used."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(
            f"The model {path} cannot be used: {problem}.",
            next_step="Put a whole copy in its place, or set encoder to 'static'.",
        )


class NoHub(EncoderTrouble):
    """A hub does not give what is asked of it."""

    status = 502

    def __init__(self, hub: str, problem: str) -> None:
        super().__init__(
            f"{hub} did not give the model: {problem}.",
            next_step="Look at the name and the network, name another --hub, or copy the folder.",
        )


class NoAnswer(EncoderTrouble):
    """The endpoint does not answer as it should."""

    status = 502

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(
            f"{url} gave no vectors: {problem}.",
            next_step="Look at encoder_url, encoder_model and the key, or set encoder to 'static'.",
        )
