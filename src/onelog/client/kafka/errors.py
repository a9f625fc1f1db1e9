"""A broker's answer that is an error: its code, its name, where, and whether to try again."""

from onelog.client.errors import ClientError
from onelog.protocols.kafka.errors import RETRIABLE, Code, code_name

# What the codes say is for programs; these are the ones that people meet, and what helps.
_HINTS = {
    Code.UNKNOWN_TOPIC_OR_PARTITION: "there is no such topic or partition; `onelog topics list` shows what is",
    Code.OFFSET_OUT_OF_RANGE: "the log does not hold that offset; it may have been removed by retention",
    Code.MESSAGE_TOO_LARGE: "a batch is larger than max.message.bytes of the topic",
    Code.TOPIC_ALREADY_EXISTS: "the topic exists already",
    Code.INVALID_TOPIC_EXCEPTION: "a name has 1 to 249 of a-z A-Z 0-9 . _ -",
    Code.INVALID_PARTITIONS: "that number of partitions cannot be; it can only grow",
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER: "a batch before this one was lost",
    Code.INVALID_PRODUCER_EPOCH: "another producer took over",
    Code.NON_EMPTY_GROUP: "the group has members; stop them first (one that crashed goes when its session is over)",
    Code.INVALID_GROUP_ID: "that cannot be a group's name: expected one character or more",
    Code.GROUP_ID_NOT_FOUND: "there is no such group; `onelog groups list` shows what is",
    Code.GROUP_SUBSCRIBED_TO_TOPIC: "a member of the group reads that topic; stop it first",
    Code.INCONSISTENT_GROUP_PROTOCOL: "its members share in another way; use their assignor, or another group",
    Code.FENCED_INSTANCE_ID: "another member has come with the same instance id",
    Code.GROUP_MAX_SIZE_REACHED: "the group has as many members as it may have",
    Code.UNKNOWN_MEMBER_ID: "the group has members; stop them, or use another group",
}


class KafkaError(ClientError):
    """What a broker said no to."""

    def __init__(self, code: int, *, where: str, message: str | None = None) -> None:
        self.code = code
        self.name = code_name(code)
        self.where = where
        self.message = message
        known = next((c for c in _HINTS if c == code), None)
        hint = message or (_HINTS[known] if known is not None else "")
        said = f"{self.name} ({code})" + (f": {hint.rstrip('.')}" if hint else "")
        super().__init__(f"{where}: {said}.", retriable=code in RETRIABLE)


def check(code: int, *, where: str, message: str | None = None) -> None:
    """Nothing, if the code is that of success; else KafkaError."""
    if code != Code.NONE:
        raise KafkaError(code, where=where, message=message)
