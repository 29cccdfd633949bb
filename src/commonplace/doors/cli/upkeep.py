"""The commands of upkeep: scan, mend, forget, compact, and run what is scheduled.

Each command is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.cli import pages
from commonplace.doors.cli.everyday import LAST, listed_as, meant
from commonplace.doors.cli.main import is_for_eyes, open_memory, said, show, unconfirmed
from commonplace.doors.cli.terminal import agrees, at_terminal, paint, stopped_by_signals
from commonplace.library.erase import said_of_chain, told_sessions
from commonplace.model.errors import BadValue, NoSuchRecord
from commonplace.model.records import ID, Record, Sensitivity
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.memory import Memory
    from commonplace.upkeep.forget import Doomed
    from commonplace.upkeep.learning import Suggestion
    from commonplace.upkeep.schedule import Run, Schedule


DIFF_LINES = 200
"""Lines of a difference that are shown of each document."""
AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([dwmy]?)\Z")
DAYS = {"": 1.0, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}


def scan_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kind", action="append", default=[], help="only this kind of finding; may be repeated"
    )


def scan(arguments: argparse.Namespace) -> int:
    """Find stale, contradictory, duplicate and orphaned memories, with a suggested fix for each.

    Changes nothing. The exit code is 0 whether or not there are findings.
    """
    with open_memory(arguments) as memory:
        findings = memory.scan(*arguments.kind)
    lines = []
    for finding in findings:
        where = ", ".join(finding.places)
        lines.append(f"{paint(finding.kind, 'cyan')}  {where}{': ' * bool(where)}{finding.what}")
        lines += [f"    {paint(finding.fix, 'yellow')}"] if finding.fix else []
    shown = "\n".join(lines) or "Nothing was found."
    show(Answer([asdict(finding) for finding in findings], shown), as_json=arguments.json)
    return 0


def suggest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would be suggested")


def suggest(arguments: argparse.Namespace) -> int:
    """Suggest memories from what history shows three times; 'review' decides on them.

    The same correction, the same question, and the same command that helped after the same
    failure, each in another session or on another day. Nothing is stored before you approve it.
    """
    from commonplace.upkeep.learning import described

    with open_memory(arguments) as memory:
        found = memory.suggest(dry_run=arguments.dry_run)
        lines = [_told_suggestion(each, memory.clock.day_of) for each in found]
    if found and not arguments.dry_run:
        lines += ["'commonplace review' shows them with their messages, and decides."]
    text = "\n".join(lines) or "History shows nothing three times that is not known or decided."
    show(Answer([described(each) for each in found], text), as_json=arguments.json)
    return 0


def _told_suggestion(suggestion: Suggestion, day_of: Callable[[str], str]) -> str:
    record, days = suggestion.record, [day_of(each.split(" ")[0]) for each in suggestion.times]
    when = ", ".join(dict.fromkeys(days))
    return f"{record.id}  {record.kind}: {one_line(record.text)}\n    {len(days)} times: {when}"


def strike_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="+", metavar="ID", help="a number of the last list, 'last', or an id"
    )


def strike(arguments: argparse.Namespace) -> int:
    """Take memories out of every document. Can be undone; 'forget' erases for good."""
    with open_memory(arguments) as memory:
        records = [memory.get(meant(memory, each)).record for each in arguments.id]
        ids = [record.id for record in records]
        replaced = memory.strike(ids)
    said = "\n".join(f"  {one_line(record.text)}" for record in records)
    chain = said_of_chain(replaced)
    text = "\n".join(filter(None, (f"Removed; 'commonplace undo' brings it back:\n{said}", chain)))
    if is_for_eyes(arguments):
        text = pages.removed([record.text for record in records], chain=chain)
    show(Answer({"ids": ids}, text), as_json=arguments.json)
    return 0


def delete_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a number of the last list, 'last', or an id")
    parser.add_argument(
        "--bring-back", action="store_true", help="let the memory that it replaced count again"
    )
    parser.add_argument("--yes", action="store_true", help="ask nothing")


def delete(arguments: argparse.Namespace) -> int:
    """Erase a memory for good. It can't be undone: 'remove' can."""
    from commonplace import tools

    with open_memory(arguments) as memory:
        key = meant(memory, said(arguments.id))
        if at_terminal() and not arguments.yes:
            print(f"  {one_line(memory.get(key).record.text)}")
            if not agrees("Erase it for good? Nothing brings it back; 'remove' can be undone."):
                return unconfirmed(again="--yes")
        given = {"id": key, "bring_back": arguments.bring_back}
        answer = tools.table("native")["delete"].call(memory, given)
    if is_for_eyes(arguments):
        answer = Answer(answer.data, pages.erased(str(answer)))
    show(answer, as_json=arguments.json)
    return 0


def unlink_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a record that replaces another, or that a lost one replaced")


def unlink(arguments: argparse.Namespace) -> int:
    """Make a replaced record count again. Can be undone.

    Name the record that replaced it; if that one is gone, name the replaced record itself.
    """
    with open_memory(arguments) as memory:
        record = memory.get(meant(memory, arguments.id)).record
        memory.unlink(record.id)
    text = f"{record.id} {'counts again' if record.replaced_by else 'replaces nothing now'}."
    show(Answer({"id": record.id}, text), as_json=arguments.json)
    return 0


def upkeep_arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="run what is due, and end")
    how.add_argument("--loop", action="store_true", help="run what is due until it is stopped")
    parser.add_argument(
        "--job", action="append", default=[], help="with --once: this one, due or not"
    )


def upkeep(arguments: argparse.Namespace) -> int:
    """Run compaction, experiences, scan and heartbeat when they are due, or show the schedule.

    '--once' is for cron; the exit code is 1 when a job failed.
    """
    with open_memory(arguments) as memory:
        schedule = memory.schedule()
        _check_jobs(arguments.job, [job.name for job in schedule.jobs])
        if arguments.loop:
            return _loop(schedule, as_json=arguments.json)
        if not arguments.once:
            return _show_schedule(schedule.described(), as_json=arguments.json)
        runs = schedule.once(*arguments.job)
    text = "\n".join(map(_run_line, runs)) or "Nothing was due."
    show(Answer([asdict(run) for run in runs], text), as_json=arguments.json)
    return 1 if any(run.outcome == "failed" for run in runs) else 0


def _check_jobs(wanted: list[str], known: list[str]) -> None:
    strange = [name for name in wanted if name not in known]
    if strange:
        step = (
            f"Use {', '.join(known)}."
            if known
            else "Switch one on: 'commonplace status --options'."
        )
        raise BadValue("--job", f"no job {strange[0]!r} is switched on", next_step=step)


def _loop(schedule: Schedule, *, as_json: bool) -> int:
    stopped_by_signals(schedule.stop)

    def tell(run: Run) -> None:
        print(json.dumps(asdict(run)) if as_json else _run_line(run), flush=True)

    schedule.loop(after=tell)
    return 0


def _show_schedule(jobs: list[dict[str, Any]], *, as_json: bool) -> int:
    lines = [
        f"{job['job']:<12} next {job['next'][:19]}Z  "
        + (
            f"last {job['last'][:19]}Z {job['outcome']} {job['what']}"
            if job["last"]
            else "never yet"
        )
        for job in jobs
    ]
    nothing = (
        "Nothing is scheduled: set memory_compaction_schedule, scan_schedule or another option."
    )
    show(Answer(jobs, "\n".join(lines) or nothing), as_json=as_json)
    return 0


def _run_line(run: Run) -> str:
    colour = "green" if run.outcome == "done" else "red"
    return (
        f"{run.at[:19]}Z {run.name} {paint(run.outcome, colour)} in {run.seconds:g} s: {run.what}"
    )


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", help="a record id, or words that all stand in what is meant")
    parser.add_argument(
        "--confirm", action="store_true", help="erase; else only show what would go"
    )
    parser.add_argument(
        "--history", action="store_true", help="erase what conversations say of it as well"
    )
    parser.add_argument(
        "--bring-back", action="store_true", help="let what it had replaced count again"
    )


def forget(arguments: argparse.Namespace) -> int:
    """Erase records for good, from the documents, their past, the index and all summaries.

    Without '--confirm' it shows what would go, and exits with 4. Messages that say the same stay,
    unless '--history' or a yes at a terminal erases them too.
    """
    with open_memory(arguments) as memory:
        what = listed_as(memory, arguments.what) or arguments.what
        what = meant(memory, what) if what == LAST else what
        words = "" if ID.match(what) else what
        ids = _meant(memory, what, words)
        doomed = memory.would_forget(ids, words=words)
        if not arguments.confirm:
            return _show_doomed(doomed, as_json=arguments.json, history=arguments.history)
        too = arguments.history or _agrees_to_messages(doomed)
        receipt = memory.delete_all(ids, history=too, words=words, bring_back=arguments.bring_back)
    erased = {
        "summaries": len(receipt.summaries),
        "experiences": receipt.experiences,
        "messages": receipt.messages,
        "entries and versions of the journal": receipt.texts,
    }
    what = ", ".join(receipt.ids)
    lines = [f"Erased {what} from {receipt.places()}."] if what else ["No memory says it."]
    lines += [f"  and {count} {what}" for what, count in erased.items() if count]
    lines += [receipt.still_said()] if receipt.said else []
    lines += [receipt.chain()] if receipt.chain() else []
    lines += [f"Out of reach: {what}" for what in receipt.out_of_reach]
    show(Answer(asdict(receipt), "\n".join(lines)), as_json=arguments.json)
    return 0


def _meant(memory: Memory, what: str, words: str) -> list[str]:
    """The ids of the records that are meant; none where only conversations say it."""
    try:
        return [hit.record.id for hit in memory.to_forget(what)]
    except NoSuchRecord:
        if not (words and memory.would_forget([], words=words).messages):
            raise
        return []


def _agrees_to_messages(doomed: Doomed) -> bool:
    """Ask a person at a terminal whether what conversations say goes as well."""
    if not (doomed.messages and at_terminal()):
        return False
    question = f"Erase {told_sessions(doomed.said)} from the conversation history too?"
    return agrees(question)


def _show_doomed(doomed: Doomed, *, as_json: bool, history: bool) -> int:
    data = {
        "ids": [record.id for record in doomed.records],
        "documents": doomed.places,
        "summaries": [record.id for record in doomed.summaries],
        "messages": len(doomed.messages) if history else 0,
        "said": doomed.said,
        "replaced": doomed.replaced,
    }
    lines = [f"{record.id}  {_shown_text(record)}" for record in doomed.records]
    lines += [f"{record.id}  a summary, made anew without them" for record in doomed.summaries]
    if doomed.messages:
        fate = "would go as well" if history else "would stay; '--history' erases that too"
        lines.append(f"{told_sessions(doomed.said)}: {fate}")
    lines += [
        f"{key}, which it replaced, stays replaced; --bring-back lets it count again"
        for key in doomed.replaced
    ]
    show(Answer(data, "\n".join(lines)), as_json=as_json)
    return unconfirmed()


def _shown_text(record: Record) -> str:
    return "(secret)" if record.sensitivity == Sensitivity.SECRET else one_line(record.text)


def tidy_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show the difference")
    parser.add_argument("--yes", action="store_true", help="ask nothing")


def tidy(arguments: argparse.Namespace) -> int:
    """Sort MEMORY.md into sections, each memory in one place. Can be undone.

    Takes out copies, merges exact duplicates and dates lines that you wrote by hand. Your own
    headings, prose and sections stay as they are. Shows the difference first.
    """
    with open_memory(arguments) as memory:
        plan = memory.plan_tidy()
        data = {
            "sorted": plan.sorted,
            "doubled": plan.doubled,
            "dated": len(plan.dated),
            "merged": plan.merged,
            "documents": sorted(plan.texts),
        }
        if not plan.texts:
            show(Answer(data, "Everything is tidy."), as_json=arguments.json)
            return 0
        if arguments.dry_run or not arguments.json:
            shown = f"{plan.difference(most=DIFF_LINES)}\n\n{plan.sentence().capitalize()}."
            show(Answer(data, shown), as_json=arguments.json)
        if arguments.dry_run:
            return 0
        if at_terminal() and not arguments.yes and not agrees("Tidy these documents?"):
            show(Answer(data, "Nothing was changed."), as_json=arguments.json)
            return 0
        memory.tidy(plan)
    show(Answer(data, "Tidied. 'commonplace undo' takes it back."), as_json=arguments.json)
    return 0


def compact_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would become what")
    parser.add_argument("--force", action="store_true", help="without waiting for a threshold")
    parser.add_argument(
        "--older-than", metavar="AGE", default="", help="such as 30d, 6w, 3m or 1y; else the option"
    )


def compact(arguments: argparse.Namespace) -> int:
    """Replace old records of the main document by summaries. Can be undone.

    Lessons, preferences, instructions and anything recent or sensitive stay. 'expand' shows what a
    summary was made from.
    """
    from commonplace.upkeep.compaction.plan import described

    age = _days(arguments.older_than) if arguments.older_than else None
    with open_memory(arguments) as memory:
        if arguments.dry_run:
            plan, shown = memory.plan_compaction(min_age_days=age)
            data = {
                "leaving": plan.leaving,
                "summaries": [
                    {"text": summary.text, "sources": summary.sources} for summary in plan.summaries
                ],
            }
            show(Answer(data, f"{shown}\n{plan.sentence}".strip()), as_json=arguments.json)
            return 0
        report = memory.compact(forced=arguments.force, min_age_days=age)
        may_force = memory.layout.memory and not arguments.force
        said = described(report, memory.clock.day_of)
    hint = " Repeat with --force." if report.status == "skipped" and may_force else ""
    text = f"Compaction {said}.{hint}".replace("..", ".")
    show(Answer(asdict(report), text), as_json=arguments.json)
    return 1 if report.status == "failed" else 0


def _days(age: str) -> float:
    match = AGE.match(age.strip().lower())
    if match is None:
        raise BadValue("older-than", f"{age!r} is no age", next_step="Use days: 30d, or 6w, 1y.")
    return float(match[1]) * DAYS[match[2]]


def expand_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a summary's id; with --restore, any record's")
    parser.add_argument(
        "--restore", action="store_true", help="put it, or what it was made from, back"
    )


def expand(arguments: argparse.Namespace) -> int:
    """Show the records that a summary was made from, exactly as they were."""
    with open_memory(arguments) as memory:
        key = meant(memory, arguments.id)
        hit = memory.library.hit_of(key) if arguments.restore else None
        if arguments.restore and not (hit and hit.record.sources):
            return _restored(memory.bring_back([key]), arguments)
        sources = memory.expand(key)
        if arguments.restore:
            back = [source.id for source in sources if source.record]
            return _restored(memory.bring_back(back), arguments)
        day_of = memory.clock.day_of
    lines = []
    for source in sources:
        record = source.record
        day = day_of(record.timestamp) if record else ""
        said = f"{day} {record.kind}: {one_line(record.text)}" if record else "was forgotten"
        lines.append(f"{source.id}  {said}")
    data = [
        {
            "id": source.id,
            "record": source.record and {"text": source.record.text, **source.record.data()},
            "documents": source.documents,
        }
        for source in sources
    ]
    text = "\n".join(lines) or f"{arguments.id} is no summary: it was made from nothing else."
    show(Answer(data, text), as_json=arguments.json)
    return 0


def _restored(ids: tuple[str, ...], arguments: argparse.Namespace) -> int:
    text = f"Put back {', '.join(ids)}." if ids else "Everything of it is there already."
    show(Answer({"restored": ids}, text), as_json=arguments.json)
    return 0
