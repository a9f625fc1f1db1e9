"""What is known of the producers that number their batches: the last five of each, and their transactions.

Derived from the batches of the log and nothing else, so it cannot disagree with them. A
batch that comes a second time is recognised and answered as the first time; one that
leaves a gap, or comes from a producer that was replaced, is refused. A marker with a newer
epoch replaces its producer, too: the numbers begin again at 0.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from onelog.errors import OutOfOrderSequence, StaleProducerEpoch
from onelog.model import OFFSET_MAX
from onelog.records.batch import Batch
from onelog.records.record import TimestampType
from onelog.storage.transactions import Transactions

# Clients send up to five batches without waiting.
BATCHES_KEPT = 5
EXPIRY_MS = 86_400_000
# What stands for the sequences of a marker, which has none: 0 comes next.
NO_SEQUENCE = -1
_SEQUENCES = 1 << 31


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch that is in the log: its producer's epoch, its sequences, its offsets, its time."""

    epoch: int
    first_sequence: int
    last_sequence: int
    base: int
    next: int
    timestamp_ms: int


class Producer:
    """One producer's last batches, of which the newest says its epoch.

    Five of them count. Those that are not written yet are kept beside five that are: a power
    cut may take them back, and what is said of the producer for an offset before them (a
    snapshot) has to be what was true there.
    """

    __slots__ = ("heard_ms", "seen")

    def __init__(self, heard_ms: int, seen: Iterable[Seen] = ()) -> None:
        self.heard_ms = heard_ms
        self.seen: deque[Seen] = deque(seen)

    @property
    def epoch(self) -> int:
        """That of the last batch."""
        return self.seen[-1].epoch

    def last(self, *, below: int = OFFSET_MAX) -> list[Seen]:
        """The last five batches, oldest first; or the last five that end at this offset or before."""
        found = (seen for seen in reversed(self.seen) if seen.next <= below)
        return list(islice(found, BATCHES_KEPT))[::-1]

    def repeated(self, batch: Batch) -> Seen | None:
        """The batch in the log that this one is again."""
        asked = (batch.producer_epoch, batch.base_sequence, batch.last_sequence)
        if batch.producer_epoch == self.epoch:
            for seen in self.last():
                if (seen.epoch, seen.first_sequence, seen.last_sequence) == asked:
                    return seen
        return None

    def check(self, batch: Batch) -> None:
        """Whether this batch may come next."""
        if batch.producer_epoch < self.epoch:
            raise StaleProducerEpoch(batch.producer_id, batch.producer_epoch, self.epoch)
        expected = 0
        if batch.producer_epoch == self.epoch:
            expected = (self.seen[-1].last_sequence + 1) % _SEQUENCES
        if batch.base_sequence != expected:
            raise OutOfOrderSequence(batch.producer_id, batch.base_sequence, expected)

    def note(self, batch: Batch, *, base: int, heard_ms: int, settled: int) -> None:
        """The batch is in the log, from offset base on; what ends at `settled` or before is written."""
        self.heard_ms = max(self.heard_ms, heard_ms)
        if batch.is_control and self.seen and batch.producer_epoch <= self.epoch:
            return
        self.seen.append(
            Seen(
                epoch=batch.producer_epoch,
                first_sequence=batch.base_sequence,
                last_sequence=batch.last_sequence,
                base=base,
                next=base + batch.last_offset_delta + 1,
                timestamp_ms=append_time_ms(batch),
            )
        )
        while len(self.seen) > BATCHES_KEPT and self.seen[BATCHES_KEPT].next <= settled:
            self.seen.popleft()


class Producers:
    """The producers of one log, by id."""

    __slots__ = ("_by_id", "transactions")

    def __init__(self) -> None:
        self._by_id: dict[int, Producer] = {}
        self.transactions = Transactions()

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, producer_id: int) -> Producer | None:
        """What is known of one."""
        return self._by_id.get(producer_id)

    def check(self, batches: Iterable[Batch]) -> list[Seen | None]:
        """For each batch, what it repeats, or None when it is new. Changes nothing.

        Raises OutOfOrderSequence or StaleProducerEpoch when one of them may not come.
        """
        ahead: dict[int, Producer] = {}
        verdicts: list[Seen | None] = []
        for batch in batches:
            if not is_numbered(batch):
                if batch.is_control:
                    self._check_marker(batch)
                verdicts.append(None)
                continue
            known = ahead.get(batch.producer_id) or self._by_id.get(batch.producer_id)
            repeated = known.repeated(batch) if known else None
            verdicts.append(repeated)
            if repeated:
                continue
            if known:
                known.check(batch)
            # The next one in the same breath is judged as if this one were there already.
            after = Producer(0, known.last() if known else ())
            after.note(batch, base=0, heard_ms=0, settled=0)
            ahead[batch.producer_id] = after
        return verdicts

    def _check_marker(self, batch: Batch) -> None:
        known = self._by_id.get(batch.producer_id)
        if known is not None and batch.producer_epoch < known.epoch:
            raise StaleProducerEpoch(batch.producer_id, batch.producer_epoch, known.epoch)

    def note(self, batch: Batch, *, base: int, heard_ms: int, settled: int) -> None:
        """The batch is in the log, from offset base on; what ends at `settled` or before is written."""
        self.transactions.note(batch, base=base, settled=settled)
        if not is_numbered(batch) and not (batch.is_control and batch.producer_id >= 0):
            return
        known = self._by_id.get(batch.producer_id)
        if known is None:
            known = self._by_id[batch.producer_id] = Producer(heard_ms)
        known.note(batch, base=base, heard_ms=heard_ms, settled=settled)

    def put(self, producer_id: int, producer: Producer) -> None:
        """What a snapshot knows of one."""
        self._by_id[producer_id] = producer

    def items(self) -> Iterable[tuple[int, Producer]]:
        """All of them, by id."""
        return self._by_id.items()

    def expire(self, now_ms: int, *, expiry_ms: int = EXPIRY_MS) -> None:
        """Forget those not heard of for long, but none whose transaction is open."""
        silent = [i for i, p in self._by_id.items() if now_ms - p.heard_ms >= expiry_ms]
        for producer_id in silent:
            if self.transactions.is_open(producer_id):
                continue
            del self._by_id[producer_id]


def is_numbered(batch: Batch) -> bool:
    """Whether the batch's producer counts its batches. Control batches have no numbers."""
    return batch.producer_id >= 0 and batch.base_sequence >= 0 and not batch.is_control


def append_time_ms(batch: Batch) -> int:
    """When the batch was appended, if that is its kind of time; else -1."""
    return batch.max_timestamp_ms if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else -1
