"""Values that are asked and answered."""

from uuid import UUID

from onelog.broker.broker import Marks, NewTopic, Position, Read, ReadResult, Topic
from onelog.model import TopicName
from tests.support.brokers import batch


def test_the_size_of_a_read_is_that_of_its_batches() -> None:
    batches = [batch("a"), batch("b", "c")]
    marks = Marks(0, 3, 3, 3, 3, 3)
    assert ReadResult(batches, marks, 0, 3).size == sum(len(b.data) for b in batches)
    assert ReadResult([], marks, 0, 0).size == 0


def test_what_is_not_said_is_unknown_or_unlimited() -> None:
    assert Position(5) == Position(5, leader_epoch=-1, note="")
    assert Read(TopicName("orders"), 0, 0, 1).leader_epoch == -1
    assert NewTopic("orders").partition_count is None
    assert Topic(TopicName("orders"), UUID(int=1), 1).settings == {}
