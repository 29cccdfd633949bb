"""Compact, expand, forget, strike and rebuild."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.memory import session
from commonplace.model.errors import BadValue, Conflict
from commonplace.model.lazy import Lazy
from commonplace.model.records import Hit, Origin, Record

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from commonplace.history.messages import History
    from commonplace.library.erase import Receipt
    from commonplace.memory import Memory
    from commonplace.trust import permission
    from commonplace.upkeep import claw_workspace, scan
    from commonplace.upkeep import forget as forgetting
    from commonplace.upkeep import tidy as tidying
    from commonplace.upkeep.compaction import expand as unfolding
    from commonplace.upkeep.compaction import run as compaction
    from commonplace.upkeep.compaction.plan import CompactionPlan, CompactionReport
    from commonplace.upkeep.learning import Suggestion
    from commonplace.upkeep.scan import decisions
    from commonplace.upkeep.schedule import Schedule
    from commonplace.upkeep.tidy import TidyPlan
else:
    claw_workspace = Lazy("upkeep.claw_workspace")
    compaction = Lazy("upkeep.compaction.run")
    forgetting = Lazy("upkeep.forget")
    decisions = Lazy("upkeep.scan.decisions")
    permission = Lazy("trust.permission")
    tidying = Lazy("upkeep.tidy")
    scan = Lazy("upkeep.scan")
    unfolding = Lazy("upkeep.compaction.expand")


def schedule(memory: Memory, *, elsewhere: bool = False) -> Schedule:
    from commonplace.upkeep.jobs import schedule_of

    return schedule_of(memory, elsewhere=elsewhere)


def compact(
    memory: Memory,
    *,
    forced: bool = False,
    scheduled: bool = False,
    min_age_days: float | None = None,
) -> CompactionReport:
    run = compaction_of(memory, min_age_days)
    report = run.run(forced=forced, scheduled=scheduled)
    if not (forced or scheduled or report.status == "done"):
        return report
    tell_beside(memory)
    return replace(report, rolled_up=memory.roll_up_diary())


def plan_tidy(memory: Memory) -> TidyPlan:
    return tidying.plan(memory.library)


def tidy(memory: Memory, shown: TidyPlan | None) -> TidyPlan:
    return tidying.tidy(memory.library, author=memory.author, shown=shown)


def roll_up_diary(memory: Memory) -> tuple[str, ...]:
    from commonplace.upkeep.diary_rollup import roll_up

    return roll_up(memory.library, memory.diary())


def plan_compaction(
    memory: Memory, *, min_age_days: float | None = None
) -> tuple[CompactionPlan, str]:
    return compaction_of(memory, min_age_days).planned()


def compaction_of(memory: Memory, min_age_days: float | None = None) -> compaction.Compaction:
    from commonplace.upkeep.compaction.plan import settings_of
    from commonplace.upkeep.compaction.summarizers import WithoutForgotten, summarizer_of

    summarizer = summarizer_of(memory.options, notes=memory.notes, clock=memory.clock)
    return compaction.Compaction(
        memory.library,
        settings_of(memory.layout, memory.options, min_age_days=min_age_days),
        notes=memory.notes,
        summarizer=WithoutForgotten(summarizer, memory.library),
        checkpoint=memory.checkpoint if memory.layout.name == "claw" else lambda: None,
        findings=lambda: memory.scan(*compaction.CAUSED),
        beside=partial(_alone_beside, memory),
    )


def _alone_beside(memory: Memory) -> AbstractContextManager[None]:
    """Holds the lock of CursorClaw's own compaction, where that may run in the same place."""
    if not _is_workspace(memory):
        return nullcontext()
    now = memory.clock.now().timestamp()
    return claw_workspace.alone_beside(memory.root_path, memory.notes, now=now)


def _is_workspace(memory: Memory) -> bool:
    """Whether CursorClaw's own program may work with the same files."""
    return memory.layout.name == "claw" and memory.parts.database is None


def tell_beside(memory: Memory) -> None:
    """Write what CursorClaw keeps of records and experiences, where an option asks for it."""
    if not (memory.options.cursorclaw_files and _is_workspace(memory)) or memory.read_only:
        return
    name, most = memory.layout.memory, memory.options.memory_embeddings_max_records
    parsed = memory.library.parse(name, memory.library.text(name)[0])
    records = [item.record for item in parsed.items]
    claw_workspace.write_embeddings(memory.root_path, records, most=most, at=memory.clock.stamp())
    claw_workspace.write_experiences(memory.root_path, memory.experiences.records())


def compact_in_background(memory: Memory) -> None:
    """Have it compacted elsewhere if an append took the main document over a threshold."""
    from commonplace.upkeep.jobs import BackgroundCompaction

    if not memory._backgrounds:
        memory._backgrounds.append(
            BackgroundCompaction(memory.library, memory.options, notes=memory.notes)
        )
    memory._backgrounds[0].consider(memory.job_processes)


def expand(memory: Memory, record_id: str) -> list[unfolding.Source]:
    session.check_open(memory)
    sources = unfolding.sources(memory.library, session.meant(memory, record_id))
    memory.note_shown(source.record for source in sources if source.record)
    return sources


def bring_back(memory: Memory, record_ids: Sequence[str]) -> tuple[str, ...]:
    ids = [session.meant(memory, key) for key in record_ids]
    return unfolding.bring_back(memory.library, ids, author=memory.author)


def suggest(memory: Memory, *, again: bool, dry_run: bool) -> list[Suggestion]:
    from commonplace.memory.storing import alike_words
    from commonplace.upkeep.learning import Learner

    if not _history_if_any(memory):
        return []
    learner = Learner(memory.library, memory.notes, memory.messages, alike=alike_words(memory))
    return learner.found() if dry_run else learner.suggest(again=again)


def delete_all(
    memory: Memory,
    record_ids: Sequence[str],
    *,
    history: bool = False,
    words: str = "",
    bring_back: bool = False,
) -> Receipt:
    if history:
        permission.check_erases_messages(memory.author.origin)
    ids = [session.meant(memory, key) for key in record_ids]
    receipt = memory.library.locked(
        lambda: _deleted(memory, ids, history=history, words=words, bring_back=bring_back)
    )
    session.mind_said(memory, ((each["session"], "user") for each in receipt.said))
    tell_beside(memory)
    left = claw_workspace.still_there(memory.root_path, ids) if _is_workspace(memory) else ()
    left += tuple(memory.library.listing().unreadable.values())
    return replace(receipt, out_of_reach=receipt.out_of_reach + left + memory.parts.sweep())


def _deleted(
    memory: Memory, ids: Sequence[str], *, history: bool, words: str, bring_back: bool
) -> Receipt:
    memory.library.refresh()
    if memory.origin == Origin.OWNER:
        # A wording that waits goes with the sentence that it words.
        ids = [
            *ids,
            *(each.id for each in memory.library.approvals.held() if each.words_one_of(ids)),
        ]
    held = _withheld(memory, ids)
    doomed = [held.get(key) or memory.get(key).record for key in ids]
    permission.check_erases(memory.author.origin, doomed)
    memory.library.recalls.clear()
    return forgetting.forget(
        memory.library,
        ids,
        author=memory.author,
        history=_history_if_any(memory),
        held=held,
        experiences=memory.experiences,
        text_limit=memory.options.text_limit,
        words=words,
        and_messages=history,
        bring_back=bring_back,
    )


def to_forget(memory: Memory, what: str) -> list[Hit]:
    if what.startswith("#"):
        what = session.meant(memory, what)
    return forgetting.matching(memory.library, what, held=_withheld(memory))


def would_forget(
    memory: Memory, record_ids: Sequence[str], *, words: str = ""
) -> forgetting.Doomed:
    return forgetting.doomed(
        memory.library,
        record_ids,
        history=_history_if_any(memory),
        held=_withheld(memory, record_ids),
        words=words,
    )


def _withheld(memory: Memory, ids: Sequence[str] = ()) -> dict[str, Record]:
    """Those of the ids that stand in no document any more, and what was ever held for
    approval, which only a person can make go away.
    """
    held = memory.library.approvals.withheld() if memory.origin == Origin.OWNER else {}
    lost = [key for key in ids if key not in held and not memory.library.hit_of(key)]
    departed = memory.library.eraser.departed(lambda record: record.id in lost) if lost else {}
    return held | {key: gone.record for key, gone in departed.items()}


def _history_if_any(memory: Memory) -> History | None:
    return memory.messages if memory.parts.has_history() else None


def findings(memory: Memory, *kinds: str) -> list[decisions.Marked]:
    found = scan.scan(
        memory.library,
        now=memory.clock.now(),
        root=memory.root_path,
        citations=memory.citations,
        kinds=kinds,
    )
    return decisions.marked(memory.library, memory.notes, found)


def leave_findings(memory: Memory, marks: Iterable[str]) -> None:
    decisions.leave(memory.notes, marks, at=memory.clock.stamp())


def look_again(memory: Memory, marks: Iterable[str]) -> None:
    decisions.look_again(memory.notes, frozenset(marks))


def mend(memory: Memory, found: Sequence[decisions.Marked], *, keep: str = "") -> tuple[str, ...]:
    def work() -> tuple[str, ...]:
        memory.library.refresh()
        _check_still_so(memory, found)
        struck = [key for each in found if each.deed == "strike" for key in _struck(each, keep)]
        unlinked = [key for each in found if each.deed == "unlink" for key in each.targets]
        if struck:
            memory.strike(list(dict.fromkeys(struck)))
        for key in unlinked:
            memory.unlink(key)
        return (*struck, *unlinked)

    done = memory.library.locked(work)
    if any(each.deed == "rebuild" for each in found):
        memory.rebuild()
    return done


def _struck(found: decisions.Marked, keep: str) -> Sequence[str]:
    if not keep:
        return found.targets
    if keep not in found.finding.ids:
        raise BadValue("keep", f"{keep!r} is not in the finding", next_step="Name one of its ids.")
    return [key for key in found.finding.ids if key != keep]


def _check_still_so(memory: Memory, found: Sequence[decisions.Marked]) -> None:
    """Refuse to mend what was shown and reads otherwise by now."""
    records = memory.library.records_of(key for each in found for key in each.finding.ids)
    if any(decisions.mark_of(each.finding, records) != each.mark for each in found):
        raise Conflict(
            "A memory of these findings changed since they were shown; nothing was done.",
            next_step="Look at the findings again.",
        )


def strike(memory: Memory, record_ids: Sequence[str]) -> tuple[str, ...]:
    ids = [session.meant(memory, key) for key in record_ids]
    permission.check_erases(memory.author.origin, memory.library.records_of(ids).values())
    return memory.library.strike(ids, author=memory.author)


def unlink(memory: Memory, record_id: str) -> None:
    memory.library.store.unlink(session.meant(memory, record_id), author=memory.author)


def rebuild(memory: Memory, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
    memory.library.recalls.clear()
    memory.library.rebuild(progress)
    memory.library.engine.embedder.embed_all(progress)
    return memory.count()
