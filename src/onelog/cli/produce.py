"""`onelog produce`: write records to a topic, from lines of stdin, a file, or arguments."""

import argparse
import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from onelog.binary.compression import Codec
from onelog.cli.arguments import RUSTLOG_FORMS, add_broker, add_dialect, bootstrap_of, pair, whole
from onelog.cli.formats import PARSERS, SEPARATOR, Text, Wanted
from onelog.cli.output import CommandFailed, Progress
from onelog.cli.writers import FluvioWriter, FlyMQWriter, KafkaWriter, RustLogWriter, TankWriter, Writer
from onelog.clock import Clock, SystemClock
from onelog.records.record import Header, Record

CHUNK_BYTES = 1 << 20
WHOLE = "whole"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("topic", metavar="TOPIC")
    add_broker(parser)
    add_dialect(parser)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--value", metavar="TEXT", action="append", help="one record, instead of lines of stdin; repeatable"
    )
    source.add_argument("--file", metavar="PATH", help="read lines from here; - is stdin (the default)")
    parser.add_argument(
        "--format",
        choices=(*PARSERS, WHOLE),
        help="how a line becomes a record (default: value, or key-value with --key-separator)",
    )
    parser.add_argument("--key", metavar="TEXT", help="the key of every record")
    parser.add_argument(
        "--key-separator", metavar="TEXT", help="what ends the key at the beginning of a line (default: TAB)"
    )
    parser.add_argument(
        "--header", metavar="K=V", type=pair, action="append", default=[], help="on every record; repeatable"
    )
    parser.add_argument("--partition", metavar="N", type=whole(0), help="default: by key, else in turns")
    parser.add_argument(
        "--compression",
        choices=[codec.name.lower() for codec in Codec],
        default="none",
        help="default: %(default)s",
    )
    parser.add_argument("--print-offsets", action="store_true", help="print partition, first and last offset")
    parser.set_defaults(parser=parser)


def run(args: argparse.Namespace) -> int:
    """Write until the input ends; what was written before an error stays written."""
    _check(args)
    progress = Progress()
    count = 0
    with _writer(args) as writer:
        for lot in lots(args):
            for written in writer.write(lot):
                if args.print_offsets:
                    print(written.partition, written.offset, written.offset_end - 1, flush=True)
            count += len(lot)
            progress.say(f"{args.topic}: {count} records, {count / progress.elapsed_s():.0f}/s")
    progress.end(f"{args.topic}: {count} records")
    return 0


def lots(args: argparse.Namespace, *, clock: Clock | None = None) -> Iterator[list[Wanted]]:
    """The records to write, in lots as the input comes: a line typed is sent when it ends."""
    clock = clock or SystemClock()
    text = Text(separator=SEPARATOR if args.key_separator is None else args.key_separator)
    form = args.format or ("value" if args.key_separator is None else "key-value")
    if args.value is not None:
        chunks = iter([[value.encode() for value in args.value]])
    elif args.file in (None, "-"):
        chunks = _chunks(sys.stdin.buffer, form)
    else:
        chunks = _file_chunks(args.file, form)
    number = sent = 0
    for chunk in chunks:
        lot = []
        for line in chunk:
            number += 1
            try:
                lot.append(_finished(_parsed(line, form, text, clock.wall_ms()), args))
            except CommandFailed as error:
                before = (
                    f"{sent} records before it were written, nothing else was"
                    if sent
                    else "nothing was written"
                )
                raise CommandFailed(f"line {number}: {error}; {before}") from error
        if lot:
            yield lot
            sent += len(lot)


def _parsed(line: bytes, format: str, text: Text, now_ms: int) -> Wanted:
    if format == WHOLE:
        return Wanted(Record(None, line, now_ms))
    return PARSERS[format](line, text, now_ms)


def _finished(wanted: Wanted, args: argparse.Namespace) -> Wanted:
    """The record with what the arguments say for all of them."""
    record = wanted.record
    if args.key is not None:
        record = replace(record, key=args.key.encode())
    if args.header:
        more = tuple(Header(key, value.encode()) for key, value in args.header)
        record = replace(record, headers=record.headers + more)
    return Wanted(record, wanted.partition if args.partition is None else args.partition)


def _file_chunks(path: str, format: str) -> Iterator[list[bytes]]:
    with open(path, "rb") as file:
        yield from _chunks(file, format)


def _chunks(source: BinaryIO, format: str) -> Iterator[list[bytes]]:
    """Whole lines, as many as there are at a time; or all that comes, as one."""
    if format == WHOLE:
        yield [source.read()]
        return
    assert isinstance(source, io.BufferedReader)
    rest = b""
    # read1 returns what is there: a slow writer's line does not wait for a full buffer.
    while chunk := source.read1(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        yield lines
    if rest:
        yield [rest]


def _check(args: argparse.Namespace) -> None:
    """Usage that argparse cannot judge."""
    if args.key_separator == "":
        args.parser.error("--key-separator: expected at least one character")
    if args.dialect in RUSTLOG_FORMS:
        for option in ("key", "key_separator", "header"):
            if getattr(args, option):
                args.parser.error(f"--{option.replace('_', '-')}: RustLog records have values only")
        if args.compression != "none":
            args.parser.error("--compression: RustLog knows none")
    if args.dialect == "tank":
        if args.header:
            args.parser.error("--header: TANK records have none")
        if args.print_offsets:
            args.parser.error("--print-offsets: TANK does not tell where records went")
        if args.compression not in ("none", "snappy"):
            args.parser.error("--compression: TANK knows snappy only")
    if args.dialect == "fluvio" and args.header:
        args.parser.error("--header: Fluvio records have none")
    if args.dialect == "flymq":
        if args.header:
            args.parser.error("--header: FlyMQ records have a key and a value only")
        if args.key == "":
            args.parser.error("--key: FlyMQ takes an empty key for none")
        if args.compression not in ("none", "gzip"):
            args.parser.error("--compression: FlyMQ knows gzip only")


def _writer(args: argparse.Namespace) -> Writer:
    bootstrap = bootstrap_of(args)
    codec = Codec[args.compression.upper()]
    if args.dialect in RUSTLOG_FORMS:
        form = RUSTLOG_FORMS[args.dialect]
        return RustLogWriter(bootstrap, args.topic, timeout_s=args.timeout, form=form)
    if args.dialect == "fluvio":
        return FluvioWriter(bootstrap, args.topic, timeout_s=args.timeout, codec=codec)
    if args.dialect == "flymq":
        return FlyMQWriter(bootstrap, args.topic, timeout_s=args.timeout, packed=codec is Codec.GZIP)
    if args.dialect == "tank":
        is_snappy = codec is Codec.SNAPPY
        return TankWriter(bootstrap, args.topic, timeout_s=args.timeout, is_snappy=is_snappy)
    return KafkaWriter(bootstrap, args.topic, timeout_s=args.timeout, codec=codec)
