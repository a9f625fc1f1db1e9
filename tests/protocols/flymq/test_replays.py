"""Captured sequences, sent again to a broker of ours that begins empty.

Our answers equal theirs byte for byte, but for the time of a record; where they differ the
step says why, and what ours is. docs/protocols/flymq.md has the same list. A step of a request
that is to come is refused by its name; what it left in the log there is produced here, so that
what follows reads the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from onelog.protocols.flymq.framing import Opcode
from onelog.protocols.flymq.messages.admin import ClusterState
from onelog.protocols.flymq.messages.forms import ANSWERS, REQUESTS, decode_exactly
from onelog.protocols.flymq.messages.groups import GroupDescribed
from tests.support.flymq_golden import Capture, capture, names
from tests.support.flymq_peer import ADDRESS, Peer, peer_of_a_broker
from tests.support.flymq_wire import Frame, error_of_programs, fetch, fetched, produce, u64

Judge = Callable[[Capture, Frame], None]


@dataclass(frozen=True)
class Differs:
    """Why our answer is another one, and the test of ours."""

    because: str
    judge: Judge


def error(answer: Frame) -> str:
    assert answer.opcode == Opcode.ERROR
    return error_of_programs(answer.payload)


def same(each: Capture, answer: Frame) -> None:
    """The same bytes; an ERROR, whose frame is another one, the same text."""
    if each.response.opcode == Opcode.ERROR:
        theirs = each.response.payload[6:] if each.response.flags else each.response.payload
        assert error(answer) == theirs.decode()
    else:
        assert timeless(answer) == timeless(each.response)


def timeless(answer: Frame) -> Frame:
    """A PRODUCE answered at no time: eight bytes before the last eight."""
    if answer.opcode != Opcode.PRODUCE:
        return answer
    payload = answer.payload
    return answer._replace(payload=payload[:-16] + bytes(8) + payload[-8:])


def says(text: str) -> Judge:
    def judge(_: Capture, answer: Frame) -> None:
        assert text in error(answer)

    return judge


def answers(payload: bytes) -> Judge:
    def judge(_: Capture, answer: Frame) -> None:
        assert answer.payload == payload

    return judge


def longer(each: Capture, answer: Frame) -> None:
    assert answer.payload == each.response.payload + b"\0\0"


def refused_by_name(each: Capture, answer: Frame) -> None:
    assert error(answer).startswith(Opcode(each.request.opcode).name)


def placed(partition: int, offset: int) -> Judge:
    def judge(each: Capture, answer: Frame) -> None:
        theirs = timeless(each.response).payload
        at = len(theirs) - 28
        expected = theirs[:at] + partition.to_bytes(4, "big") + u64(offset) + theirs[at + 12 :]
        assert timeless(answer).payload == expected

    return judge


def same_but_for_the_node(each: Capture, answer: Frame) -> None:
    [layout] = ANSWERS[Opcode.CLUSTER_METADATA]
    theirs, _ = decode_exactly([layout], each.response.payload)
    ours, _ = decode_exactly([layout], answer.payload)
    assert isinstance(ours, ClusterState)
    for topic in theirs.topics:
        for state in topic.partitions:
            state.leader_id, state.leader_address = "1", str(ADDRESS)
            state.replicas = state.in_sync = ["1"]
    assert ours == theirs


def describes_the_group(each: Capture, answer: Frame) -> None:
    request, (_, version, _) = decode_exactly(REQUESTS[Opcode.DESCRIBE_GROUP], each.request.payload)
    found, layout = decode_exactly(ANSWERS[Opcode.DESCRIBE_GROUP], answer.payload)
    assert isinstance(found, GroupDescribed)
    assert (found.group, layout.version) == (request.group, version)


def holds_the_others(each: Capture, answer: Frame) -> None:
    """A list of everything there is: theirs had more in it."""
    [layout] = ANSWERS[each.request.opcode]
    theirs, _ = decode_exactly([layout], each.response.payload)
    ours, _ = decode_exactly([layout], answer.payload)
    field = "topics" if each.request.opcode == Opcode.LIST_TOPICS else "groups"
    assert len(getattr(ours, field)) < len(getattr(theirs, field))
    assert all(found in getattr(theirs, field) for found in getattr(ours, field))


LONGER = Differs("behind the byte that programs read stands the document's empty text", longer)
TO_COME = Differs("to come; refused by its name", refused_by_name)
MORE = Differs("their broker had more topics and groups", holds_the_others)
NOBODY = Differs("eleven bytes, which Python and Java read too", answers(bytes(11)))
NODE = Differs("the node's id and address", same_but_for_the_node)
NAMED = Differs("CONSUME names the topic, as FETCH does there", says("topic not found: nope"))
NO_JOIN = Differs("refused with the reason", says("a cluster by itself"))
DESCRIBED = Differs("a group is found without its topic, too", describes_the_group)

PLAIN: Mapping[str, Differs] = {
    "01_create": LONGER,
    "04_produce_part2": Differs("the partition asked for is honoured", placed(2, 1)),
    "05_produce_part99": Differs(
        "the partition asked for is honoured, or refused", says("partition 99 not found")
    ),
    "10_consume_unknown": NAMED,
    "18_subscribe_committed": Differs("`committed` is `commit`; nothing was committed", answers(u64(0))),
    "20_commit": LONGER,
    "23_describe_go": DESCRIBED,
    "24_get_schema": TO_COME,
    "25_schema_python": TO_COME,
    "26_delete_schema_v0": TO_COME,
    "27_ttl": TO_COME,
    "28_delayed": TO_COME,
    "29_txn_begin": TO_COME,
    "30_txn_commit": TO_COME,
    "31_txn_unknown": TO_COME,
    "32_metadata": NODE,
    "34_opcode_04": Differs("METADATA is served", says("topic not found: ")),
    "35_opcode_66": Differs("SEEK_TO_TIMESTAMP is served", says("buffer too small")),
    "36_truncated": Differs("the reason stands behind the text", says("buffer too small: ")),
}
# What was sent in between and not captured, by the step that comes behind it.
NOT_CAPTURED: Mapping[str, Sequence[bytes]] = {
    "08_consume": [produce("w37478auto", b"zipped")] * 2,
    "16_subscribe_earliest": [produce("w37478", b"more", partition=0)] * 2,
}

CLI: Mapping[str, Differs] = {
    "01": LONGER,
    "02": MORE,
    "08": MORE,
    "11": DESCRIBED,
    **{f"{number}": TO_COME for number in range(12, 23)},
    "23": NOBODY,
    "24": NO_JOIN,
    "25": LONGER,
}

JAVA: Mapping[str, Differs] = {
    "01": LONGER,
    "02": MORE,
    "10": NAMED,
    "15": LONGER,
    "20": MORE,
    "21": DESCRIBED,
    "22": Differs("a group is deleted without its topic, too", answers(b"\1")),
    **{f"{number}": TO_COME for number in (*range(23, 37),)},
    "37": NODE,
    "38": NO_JOIN,
    "39": NOBODY,
    "46": LONGER,
    "48": LONGER,
}
# Asked for partition 1 and got 0. Ours would honour it (04 above) and go on with another log, so
# this one asks for what it got.
JAVA_SENT: Mapping[str, bytes] = {"06": produce("j98793", b"p1", partition=0)}
# Behind these steps their log had a record that ours refused to take.
JAVA_LEFT: Mapping[str, bytes] = {
    "24": produce("j98793", b"ttl", partition=1),
    "30": produce("j98793", b"in txn", partition=0),
}


async def replayed(peer: Peer, each: Capture, differs: Differs | None, sent: bytes = b"") -> None:
    answer = await peer.exchange(sent or each.sent)
    if differs is None:
        same(each, answer)
    else:
        differs.judge(each, answer)
        with pytest.raises(AssertionError):
            same(each, answer)


async def test_the_plain_sequence_is_answered_as_by_the_real_broker(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        for name in names("[0-9]"):
            for request in NOT_CAPTURED.get(name, ()):
                await peer.granted(request)
            await replayed(peer, capture(name), PLAIN.get(name))


async def test_the_command_lines_sequence_is_answered_as_by_the_real_broker(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        for name in names("cli_"):
            await replayed(peer, capture(name), CLI.get(name[4:6]))


async def test_javas_sequence_is_answered_as_by_the_real_broker(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path, topics=0, for_programs=True) as peer:
        for name in names("java_"):
            number = name[5:7]
            await replayed(peer, capture(name), JAVA.get(number), JAVA_SENT.get(number, b""))
            if number in JAVA_LEFT:
                await peer.granted(JAVA_LEFT[number])


async def test_the_authenticated_sequence_is_to_come_but_for_its_first_questions(tmp_path: Path) -> None:
    for_all = {"01": NOBODY, "06": NOBODY}
    async with peer_of_a_broker(tmp_path, topics=0) as peer:
        for name in names("auth_"):
            each = capture(name)
            if name[5:7] in for_all:
                await replayed(peer, each, for_all[name[5:7]])
            elif each.request.opcode not in REQUESTS:
                await replayed(peer, each, TO_COME)


async def test_without_a_filter_the_answer_is_the_documents_on_a_connection_that_sent_nothing_else(
    tmp_path: Path,
) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        await peer.granted(produce("logs", b"v", key=b"k", partition=0))
        asked = fetch("logs", 0, filter=None)
        by_document = fetched(await peer.beside().granted(asked), by_document=True)
        by_programs = fetched(await peer.beside(for_programs=True).granted(asked))
        assert by_document == by_programs == ([(0, b"k", b"v")], 1)
