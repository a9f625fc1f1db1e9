"""What `onelog audit` does, and what it prints: for people, or as JSON.

Imported when the command runs, since it loads Arrow; its arguments stand in audit.py.
"""

import argparse
from typing import Any

from onelog.cli.output import CommandFailed, Progress, json_line, table
from onelog.pipeline.audit import KINDS, PartitionReport, Report, audit
from onelog.pipeline.errors import PipelineError
from onelog.pipeline.log import OnelogLog
from onelog.pipeline.progress import counted


def run_audit(args: argparse.Namespace) -> int:
    """Audit, print, and say by the exit code whether it is clean."""
    progress = Progress()
    try:
        with OnelogLog(args.bootstrap, timeout_s=args.timeout) as log:
            report = audit(
                args.table,
                log,
                findings_max=args.findings,
                watch=lambda done, total: progress.say(f"compared {done:,} of {total:,} offsets"),
            )
    except PipelineError as error:
        raise CommandFailed(str(error)) from error
    progress.end()
    print(json_line(as_json(report)) if args.json else text(report))
    return 0 if report.is_clean else 1


def text(report: Report) -> str:
    """For people: the partitions, what was found, and the verdict last."""
    lines = [
        f"{report.path}, version {report.version}, {counted(report.batch_count, 'batch')} in its ledger",
        table([_row(p, report) for p in report.partitions], header=_row(None, report)),
    ]
    lines += report.problems
    lines += [str(finding) for finding in report.findings]
    unnamed = sum(report.total(kind) for kind in KINDS) - len(report.findings)
    if unnamed > 0:
        lines.append(f"and {unnamed} more; name them with --findings")
    return "\n".join([*lines, verdict(report)])


def _row(part: PartitionReport | None, report: Report) -> tuple[str, ...]:
    """A partition's line; the header for None. What is not compared has no counts to show."""
    if part is None:
        compared: tuple[str, ...] = ("compared", *KINDS, "unprovable")
        return ("partition", "offsets", *(compared if report.is_landing else ()), "waiting")
    counts = (part.compared, *(part.counts[kind] for kind in KINDS), part.unprovable)
    return (
        str(part.partition),
        f"{part.claimed.start} to {part.claimed.end}",
        *(map(str, counts) if report.is_landing else ()),
        str(part.waiting),
    )


def verdict(report: Report) -> str:
    """One sentence."""
    if not report.is_clean:
        counts = ", ".join(f"{report.total(kind)} {kind}" for kind in KINDS if report.total(kind))
        return f"not clean: {counts or 'see above'}. {_remedy(report)}"
    if not report.is_landing:
        return "the ledger is sound: no offset is in two batches. Rows that steps or rules made are not compared."
    return f"clean: {counted(report.compared, 'record')} of the log, each in the table once and unaltered."


def _remedy(report: Report) -> str:
    """What to do next. A table is never mended in place: what it says it has is not landed again."""
    if not report.is_landing:
        return "Landing again repairs nothing: let the flow compute another table from the start."
    topics = sorted({part.partition.topic for part in report.partitions})
    commands = " and ".join(f"`onelog land {topic} --to ANOTHER_PATH --once`" for topic in topics)
    return f"Landing again into this table repairs nothing: land anew with {commands}, and audit that."


def as_json(report: Report) -> dict[str, Any]:
    """For programs."""
    return {
        "table": report.path,
        "version": report.version,
        "clean": report.is_clean,
        "landing": report.is_landing,
        "batches": report.batch_count,
        "compared": report.compared,
        **{kind: report.total(kind) for kind in KINDS},
        "partitions": [
            {
                "topic": p.partition.topic,
                "partition": p.partition.number,
                "start": p.claimed.start,
                "end": p.claimed.end,
                "log_start": p.log.start,
                "log_end": p.log.end,
                "compared": p.compared,
                **{kind: p.counts[kind] for kind in KINDS},
                "unprovable": p.unprovable,
                "waiting": p.waiting,
            }
            for p in report.partitions
        ],
        "findings": [
            {
                "kind": f.kind,
                "topic": f.partition.topic,
                "partition": f.partition.number,
                "offset": f.offset,
                "what": f.what,
            }
            for f in report.findings
        ],
        "problems": report.problems,
    }
