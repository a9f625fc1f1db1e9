"""Kafka's record sets: batches of the log as they are, back to back.

    records   [batch]*    in a request exactly one batch; in an answer any number

The log's own form is Kafka's, so nothing is translated and nothing is copied: batches come as
views of the request, and leave as the buffers that the log handed out. What a batch may be is
records/; which limits and times a topic allows, and sequences, are the broker's.
"""

from collections.abc import Sequence

from onelog.binary.compression import Codec
from onelog.errors import InvalidRecord
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.records.batch import Batch, check_produced, split
from onelog.records.codec import validate
from onelog.records.record import Buffer

# Older readers of an API do not know zstd: they said so by its version.
PRODUCE_ZSTD_SINCE = 7
FETCH_ZSTD_SINCE = 10


def produced(records: Buffer | None, *, version: int, where: str) -> Batch:
    """The one batch that a producer may send for a partition, checked in Kafka's order."""
    if records is None or len(records) == 0:
        raise InvalidRecord(where, "no batch; expected exactly one")
    batch = Batch.of(records, where=where)
    if batch.size != len(records):
        raise InvalidRecord(
            where, f"{len(records) - batch.size} bytes behind the first batch; expected exactly one batch"
        )
    if batch.codec is Codec.ZSTD and version < PRODUCE_ZSTD_SINCE:
        raise KafkaRefusal(
            Code.UNSUPPORTED_COMPRESSION_TYPE,
            f"{where}: zstd in Produce {version}; expected at least {PRODUCE_ZSTD_SINCE}",
        )
    check_produced(batch, where=where)
    validate(batch.data, where=where)
    if batch.codec is Codec.NONE:
        _verify_records(batch, where=where)
    return batch


def _verify_records(batch: Batch, *, where: str) -> None:
    """Whether every record is one: garbage has a right checksum too, and would stay in the log.

    Compressed ones would have to be unpacked for it, which costs more than the rest of a
    produce together; whoever reads garbage hears so then, and the log goes on.
    """
    try:
        batch.verify_records(gapless=True)
    except InvalidRecord as error:
        raise InvalidRecord(where, error.reason, index=error.index) from error


def fetched(batches: Sequence[Batch], *, version: int, where: str) -> list[Buffer]:
    """The buffers of an answer's record set."""
    if version < FETCH_ZSTD_SINCE and any(batch.codec is Codec.ZSTD for batch in batches):
        raise KafkaRefusal(
            Code.UNSUPPORTED_COMPRESSION_TYPE,
            f"{where}: the batches are zstd, which Fetch {version} does not know",
        )
    return [batch.data for batch in batches]


def received(records: Buffer | None, *, where: str) -> list[Batch]:
    """The batches that an answer brought to us as a client; one that was cut short is dropped."""
    return split(records, where=where) if records is not None else []
