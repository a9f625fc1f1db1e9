"""`onelog groups`: list, describe, reset and delete groups, over the Kafka dialect."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from onelog.cli.arguments import add_broker, start, whole
from onelog.cli.output import CommandFailed, json_line, table
from onelog.cli.readers import KafkaReader, Span, first_offsets
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.client.kafka.groups import GroupDescription, Groups, Progress
from onelog.client.kafka.positions import Positions
from onelog.client.kafka.subscription import Place
from onelog.errors import counted
from onelog.model import Isolation
from onelog.protocols.kafka.errors import Code


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for declare in (_add_list, _add_describe, _add_reset, _add_delete):
        action = declare(actions)
        add_broker(action)
        action.set_defaults(parser=action)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    with KafkaClient(args.bootstrap, timeout_s=args.timeout) as client:
        _ACTIONS[args.action](client, args)
    return 0


def _add_list(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser("list", help="every group and its state")
    parser.add_argument("--json", action="store_true", help="one object a line")
    return parser


def _list(client: KafkaClient, args: argparse.Namespace) -> None:
    groups = Groups(client).list()
    if args.json:
        for group in groups:
            said = {"name": group.name, "state": group.state, "protocol_type": group.protocol_type}
            print(json_line(said))
    elif groups:
        rows = [[group.name, group.state, group.protocol_type] for group in groups]
        print(table(rows, header=["GROUP", "STATE", "PROTOCOL"]))


def _add_describe(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "describe", help="members, what they hold, and how far behind the group is"
    )
    parser.add_argument("names", metavar="GROUP", nargs="+")
    parser.add_argument("--json", action="store_true", help="one object a group")
    return parser


def _describe(client: KafkaClient, args: argparse.Namespace) -> None:
    groups = Groups(client)
    for number, name in enumerate(args.names):
        group = groups.describe(name)
        progress = groups.progress(name, held=[place for member in group.members for place in member.places])
        if args.json:
            print(json_line(_as_json(group, progress)))
        else:
            print("\n" * bool(number) + _as_text(group, progress))


def _add_reset(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser("reset", help="say where a group goes on")
    parser.add_argument("name", metavar="GROUP")
    parser.add_argument(
        "--topic",
        metavar="TOPIC",
        action="append",
        help="only this one; repeatable (default: all in which the group has a position)",
    )
    parser.add_argument(
        "--partition", metavar="N", type=whole(0), action="append", help="only this one; repeatable"
    )
    parser.add_argument(
        "--to",
        metavar="WHERE",
        type=start,
        required=True,
        help="earliest, latest, an offset, -N for the last N of each partition, @MILLISECONDS since 1970, "
        "or a time like 2026-11-19T12:00:00 (UTC if it names no zone)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would be")
    return parser


def _reset(client: KafkaClient, args: argparse.Namespace) -> None:
    _refuse_members(client, args.name)
    positions = Positions(client)
    known = positions.of(args.name)
    topics = args.topic or sorted({topic for topic, _ in known})
    if not topics:
        raise CommandFailed(f"group {args.name!r} has no positions; say with --topic where it is to get some")
    wanted = {place: to for topic in topics for place, to in _aims(args, topic).items()}
    if not args.dry_run:
        positions.commit(args.name, wanted)
    before = {place: str(position.offset) for place, position in known.items()}
    rows = [
        [place[0], str(place[1]), before.get(place, "-"), str(to)] for place, to in sorted(wanted.items())
    ]
    print(table(rows, header=["TOPIC", "PARTITION", "FROM", "TO"]))


def _refuse_members(client: KafkaClient, name: str) -> None:
    try:
        members = Groups(client).describe(name).members
    except KafkaError as error:
        if error.code != Code.GROUP_ID_NOT_FOUND:
            raise
        return  # a group comes to be by its first position
    if members:
        raise CommandFailed(
            f"group {name!r} has {counted(len(members), 'member')}; stop them first, or they go on where they "
            "are. One that crashed goes by itself when its session is over"
        )


def _aims(args: argparse.Namespace, topic: str) -> dict[Place, int]:
    """Where the group is to go on in each partition of a topic."""
    isolation = Isolation.READ_UNCOMMITTED
    with KafkaReader(args.bootstrap, topic, timeout_s=args.timeout, isolation=isolation) as reader:
        spans = reader.spans()
        wanted = sorted(spans) if args.partition is None else args.partition
        for partition in wanted:
            if partition not in spans:
                count = counted(len(spans), "partition")
                raise CommandFailed(f"{topic}/{partition}: the topic has {count}, counted from 0")
        found = first_offsets(reader, args.to, {partition: spans[partition] for partition in wanted})
    for partition, offset in found.items():
        _check_within(topic, partition, offset, spans[partition])
    return {(topic, partition): offset for partition, offset in found.items()}


def _check_within(topic: str, partition: int, offset: int, span: Span) -> None:
    if not span.start <= offset <= span.end:
        held = f"{span.start} to {span.end}"
        raise CommandFailed(f"{topic}/{partition}: asked for offset {offset}; the log holds {held}")


def _add_delete(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "delete", help="forget groups that have no members, with their positions"
    )
    parser.add_argument("names", metavar="GROUP", nargs="+")
    return parser


def _delete(client: KafkaClient, args: argparse.Namespace) -> None:
    groups = Groups(client)
    for name in args.names:
        groups.delete(name)


_ACTIONS = {"list": _list, "describe": _describe, "reset": _reset, "delete": _delete}


def _as_text(group: GroupDescription, progress: Sequence[Progress]) -> str:
    parts = [f"{group.name}  {group.state}" + (f"  {group.assignor}" if group.assignor else "")]
    if group.members:
        rows = [[member.id, member.client_id, member.host, _held(member.places)] for member in group.members]
        parts.append(table(rows, header=["MEMBER", "CLIENT", "HOST", "HOLDS"]))
    if progress:
        rows = [_row(at) for at in progress]
        parts.append(table(rows, header=["TOPIC", "PARTITION", "POSITION", "END", "LAG"]))
    return "\n".join(parts)


def _row(at: Progress) -> list[str]:
    position = "-" if at.position is None else at.position
    return [at.topic, *map(str, (at.partition, position, at.end, at.lag))]


def _held(places: Iterable[Place]) -> str:
    """orders/0,1,2 sales/0"""
    by_topic: dict[str, list[str]] = {}
    for topic, partition in sorted(places):
        by_topic.setdefault(topic, []).append(str(partition))
    return " ".join(f"{topic}/{','.join(some)}" for topic, some in by_topic.items()) or "-"


def _as_json(group: GroupDescription, progress: Sequence[Progress]) -> dict[str, Any]:
    return {
        "name": group.name,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "members": [
            {
                "id": member.id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "holds": [{"topic": topic, "partition": p} for topic, p in sorted(member.places)],
            }
            for member in group.members
        ],
        "positions": [{**at._asdict(), "lag": at.lag} for at in progress],
        "lag": sum(at.lag for at in progress),
    }
