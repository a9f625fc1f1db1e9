"""`onelog consume`: print the records of a topic, from somewhere, to its end or on and on."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import BinaryIO

from onelog.cli.arguments import (
    RUSTLOG_FORMS,
    Start,
    Where,
    add_broker,
    add_dialect,
    bootstrap_of,
    start,
    whole,
)
from onelog.cli.formats import PRINTERS, SEPARATOR, Placed, Text
from onelog.cli.members import MemberReader
from onelog.cli.output import CommandFailed, Progress
from onelog.cli.readers import (
    FluvioReader,
    FlyMQReader,
    KafkaReader,
    Reader,
    RustLogReader,
    TankReader,
    first_offsets,
)
from onelog.client.kafka.admin import Spot
from onelog.errors import counted
from onelog.model import Isolation

WAIT_MS = 500
SPOTS = {Where.EARLIEST: Spot.EARLIEST, Where.LATEST: Spot.LATEST}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("topic", metavar="TOPIC")
    add_broker(parser)
    add_dialect(parser)
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        type=start,
        default=Start(Where.EARLIEST),
        help="earliest (the default), latest, an offset, -N for the last N of each partition, "
        "@MILLISECONDS since 1970, or a time like 2026-11-19T12:00:00 (UTC if it names no zone)",
    )
    parser.add_argument(
        "--partition",
        metavar="N",
        type=whole(0),
        action="append",
        help="only this one; repeatable (default: all)",
    )
    parser.add_argument(
        "--group",
        metavar="GROUP",
        help="read as a member of this group: on from where it stands, and the partitions that are ours",
    )
    parser.add_argument("--count", metavar="N", type=whole(1), help="stop after so many records")
    parser.add_argument("--follow", action="store_true", help="go on at the end, and print what comes")
    parser.add_argument(
        "--format",
        choices=tuple(PRINTERS),
        default="value",
        help="how a record is printed (default: %(default)s)",
    )
    parser.add_argument(
        "--key-separator", metavar="TEXT", default=SEPARATOR, help="between key and value (default: TAB)"
    )
    parser.add_argument(
        "--null",
        metavar="TEXT",
        default="",
        help="printed for null in value and key-value (default: nothing)",
    )
    parser.add_argument(
        "--isolation",
        choices=("committed", "uncommitted"),
        default="committed",
        help="whether records of open and aborted transactions are left out (default: %(default)s)",
    )
    parser.set_defaults(parser=parser)


def run(args: argparse.Namespace) -> int:
    """Print until the end, the count, or Ctrl-C."""
    if args.dialect in (*RUSTLOG_FORMS, "fluvio", "tank") and args.start.where is Where.TIME:
        args.parser.error("--from: this dialect cannot look for a time; use --dialect kafka, or an offset")
    if args.group is not None:
        _check_group(args)
    text = Text(separator=args.key_separator, null=args.null)
    printer = PRINTERS[args.format]
    progress = Progress()
    out: BinaryIO = sys.stdout.buffer
    # A person who looks at the records needs no progress between them.
    quiet = sys.stdout.isatty()
    count = 0
    with ExitStack() as closing:
        for lot in _lots(args, closing):
            for each in lot:
                out.write(printer(each, text))
                count += 1
            out.flush()
            if not quiet:
                progress.say(f"{count} records, {count / progress.elapsed_s():.0f}/s")
    if not quiet:
        progress.end(f"{count} records")
    return 0


def _check_group(args: argparse.Namespace) -> None:
    if not args.group:
        args.parser.error("--group: expected a name, of one character or more")
    if args.dialect != "kafka":
        args.parser.error("--group: only with --dialect kafka; groups of the other dialects have no members")
    if args.partition is not None:
        args.parser.error(
            "--group: which partitions are read is shared out in the group; leave out --partition"
        )
    if args.start.where not in SPOTS:
        args.parser.error(
            "--from: with --group earliest or latest, where the group has no position; "
            "`onelog groups reset` gives it one"
        )


def _lots(args: argparse.Namespace, closing: ExitStack) -> Iterator[list[Placed]]:
    if args.group is None:
        return placed(closing.enter_context(_reader(args)), args)
    member = MemberReader(
        bootstrap_of(args),
        args.topic,
        args.group,
        start=SPOTS[args.start.where],
        timeout_s=args.timeout,
        isolation=_isolation(args),
    )
    return closing.enter_context(member).lots(follow=args.follow, count=args.count)


def _isolation(args: argparse.Namespace) -> Isolation:
    committed = args.isolation == "committed"
    return Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED


def _reader(args: argparse.Namespace) -> Reader:
    bootstrap = bootstrap_of(args)
    if args.dialect in RUSTLOG_FORMS:
        form = RUSTLOG_FORMS[args.dialect]
        return RustLogReader(bootstrap, args.topic, timeout_s=args.timeout, form=form)
    if args.dialect == "fluvio":
        return FluvioReader(bootstrap, args.topic, timeout_s=args.timeout)
    if args.dialect == "tank":
        return TankReader(bootstrap, args.topic, timeout_s=args.timeout)
    if args.dialect == "flymq":
        return FlyMQReader(bootstrap, args.topic, timeout_s=args.timeout)
    return KafkaReader(bootstrap, args.topic, timeout_s=args.timeout, isolation=_isolation(args))


def placed(reader: Reader, args: argparse.Namespace) -> Iterator[list[Placed]]:
    """The records asked for, in lots as they come; within a partition in their order."""
    spans = reader.spans()
    wanted = sorted(spans) if args.partition is None else args.partition
    for partition in wanted:
        if partition not in spans:
            count = counted(len(spans), "partition")
            raise CommandFailed(f"{args.topic}/{partition}: the topic has {count}, counted from 0")
    offsets = first_offsets(reader, args.start, {p: spans[p] for p in wanted})
    # One offset for several partitions: some may be shorter, but not all.
    all_beyond = all(offset > spans[partition].end for partition, offset in offsets.items())
    for partition, offset in offsets.items():
        if offset < spans[partition].start or all_beyond:
            held = f"{spans[partition].start} to {spans[partition].end}"
            raise CommandFailed(f"{args.topic}/{partition}: asked for offset {offset}; the log holds {held}")
    ends = None if args.follow else {p: spans[p].end for p in wanted}
    left = args.count
    while True:
        if ends is not None:
            offsets = {p: at for p, at in offsets.items() if at < ends[p]}
        if not offsets or left == 0:
            return
        for partition, read in reader.read(offsets, wait_ms=WAIT_MS).items():
            end = None if ends is None else ends[partition]
            lot = [
                Placed(args.topic, partition, at, record)
                for at, record in read.records
                if end is None or at < end
            ][:left]
            if left is not None:
                left -= len(lot)
            yield lot
            offsets[partition] = read.next_offset
