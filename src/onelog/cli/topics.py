"""`onelog topics`: list, create, describe, alter and delete topics, over the Kafka dialect."""

import argparse
import base64
from typing import Any
from uuid import UUID

from onelog.cli.arguments import add_broker, pair, whole
from onelog.cli.output import json_line, table
from onelog.client.kafka.admin import Admin, TopicDescription
from onelog.client.kafka.client import KafkaClient
from onelog.client.kafka.errors import KafkaError
from onelog.protocols.kafka.errors import Code


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for declare in (_add_list, _add_create, _add_describe, _add_alter, _add_delete):
        action = declare(actions)
        add_broker(action)
        action.set_defaults(parser=action)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.action == "alter" and not (args.set or args.unset or args.partitions):
        args.parser.error("nothing to alter: give --set, --unset or --partitions")
    with KafkaClient(args.bootstrap, timeout_s=args.timeout) as client:
        _ACTIONS[args.action](Admin(client), args)
    return 0


def _add_list(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "list", help="every topic and its number of partitions"
    )
    parser.add_argument("--json", action="store_true", help="one object a line")
    return parser


def _list(admin: Admin, args: argparse.Namespace) -> None:
    topics = admin.topics()
    if args.json:
        for topic in topics:
            said = {"name": topic.name, "id": id_text(topic.id), "partitions": topic.partition_count}
            print(json_line({**said, "internal": topic.is_internal}))
    elif topics:
        rows = [[t.name, str(t.partition_count), id_text(t.id)] for t in topics]
        print(table(rows, header=["TOPIC", "PARTITIONS", "ID"]))


def _add_create(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser("create", help="make a topic")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--partitions", metavar="N", type=whole(1), help="default: the broker's")
    _add_set(parser)
    parser.add_argument(
        "--if-not-exists", action="store_true", help="leave a topic that exists already as it is"
    )
    return parser


def _create(admin: Admin, args: argparse.Namespace) -> None:
    try:
        admin.create_topic(args.name, partition_count=args.partitions or -1, settings=dict(args.set))
    except KafkaError as error:
        if not (args.if_not_exists and error.code == Code.TOPIC_ALREADY_EXISTS):
            raise


def _add_describe(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "describe", help="partitions, their offsets, and settings of topics"
    )
    parser.add_argument("names", metavar="NAME", nargs="+")
    parser.add_argument(
        "--all", action="store_true", help="settings by default too, not only the topic's own"
    )
    parser.add_argument("--json", action="store_true", help="one object a topic")
    return parser


def _describe(admin: Admin, args: argparse.Namespace) -> None:
    for number, name in enumerate(args.names):
        topic = admin.describe_topic(name)
        if args.json:
            print(json_line(_as_json(topic, all=args.all)))
        else:
            print("\n" * bool(number) + _as_text(topic, all=args.all))


def _add_alter(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser("alter", help="change settings, add partitions")
    parser.add_argument("name", metavar="NAME")
    _add_set(parser)
    parser.add_argument(
        "--unset", metavar="K", action="append", default=[], help="back to the default; repeatable"
    )
    parser.add_argument(
        "--partitions", metavar="N", type=whole(1), help="how many there are to be; more than now"
    )
    return parser


def _alter(admin: Admin, args: argparse.Namespace) -> None:
    if args.set or args.unset:
        admin.alter_topic(args.name, set=dict(args.set), unset=args.unset)
    if args.partitions:
        admin.grow_partitions(args.name, args.partitions)


def _add_delete(actions: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(
        "delete", help="remove topics with all their records"
    )
    parser.add_argument("names", metavar="NAME", nargs="+")
    return parser


def _delete(admin: Admin, args: argparse.Namespace) -> None:
    for name in args.names:
        admin.delete_topic(name)


_ACTIONS = {"list": _list, "create": _create, "describe": _describe, "alter": _alter, "delete": _delete}


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        metavar="K=V",
        type=pair,
        action="append",
        default=[],
        help="a setting of the topic, like retention.ms=86400000; repeatable",
    )


def id_text(topic_id: UUID) -> str:
    """A topic's id as Kafka's tools show it."""
    return base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


def _as_text(topic: TopicDescription, *, all: bool) -> str:
    rows = [
        [str(p.partition), str(p.leader), str(p.start), str(p.end), str(p.end - p.start)]
        for p in topic.partitions
    ]
    settings = [
        [s.name, s.value or "", "topic" if s.is_own else "default"] for s in topic.settings if all or s.is_own
    ]
    parts = [
        f"{topic.name}  {id_text(topic.id)}",
        table(rows, header=["PARTITION", "LEADER", "START", "END", "OFFSETS"]),
    ]
    if settings:
        parts.append(table(settings, header=["SETTING", "VALUE", "FROM"]))
    return "\n".join(parts)


def _as_json(topic: TopicDescription, *, all: bool) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": id_text(topic.id),
        "partitions": [
            {"partition": p.partition, "leader": p.leader, "start": p.start, "end": p.end}
            for p in topic.partitions
        ],
        "settings": {s.name: s.value for s in topic.settings if all or s.is_own},
    }
