import pytest

from onelog.model import Isolation
from onelog.spark.offsets import Place
from onelog.spark.options import OptionsError, Spot, includes_headers, sink_options, source_options

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "orders"}


def test_a_batch_reads_everything_by_default() -> None:
    found = source_options(BASE, streaming=False)
    assert (found.starting, found.ending) == (Spot.EARLIEST, Spot.LATEST)
    assert found.topics == ("orders",)
    assert found.fail_on_data_loss
    assert not found.include_headers
    assert found.rows_max is None
    assert found.isolation is Isolation.READ_UNCOMMITTED


def test_a_stream_starts_at_the_end_by_default() -> None:
    assert source_options(BASE, streaming=True).starting is Spot.LATEST


def test_names_of_options_ignore_case() -> None:
    options = {"KAFKA.bootstrap.servers": "h:1", "Subscribe": "b, a,a", "FAILONDATALOSS": "False"}
    found = source_options(options, streaming=True)
    assert found.topics == ("a", "b")
    assert not found.fail_on_data_loss


def test_partitions_can_be_assigned() -> None:
    options = {"kafka.bootstrap.servers": "h:1", "assign": '{"t": [1, 0]}'}
    assert source_options(options, streaming=False).assigned == (Place("t", 0), Place("t", 1))


def test_offsets_can_be_given_by_partition() -> None:
    found = source_options({**BASE, "startingOffsets": '{"orders": {"0": 7}}'}, streaming=True)
    assert found.starting == {Place("orders", 0): 7}


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ({"startingOfsets": "earliest"}, "did you mean startingOffsets?"),
        ({"maxOffsetPerTrigger": "5"}, "did you mean maxOffsetsPerTrigger?"),
        ({"zzz": "5"}, "known are"),
        ({"subscribepattern": "o.*"}, "option subscribePattern: not supported yet"),
        ({"assign": '{"t": [0]}'}, "exactly one of"),
        (
            {"startingOffsets": "sometimes"},
            "startingOffsets = 'sometimes'; expected earliest or latest, or offsets as",
        ),
        ({"endingOffsets": "7"}, 'expected latest, or offsets as JSON: {"topic": {"0": 23}}.'),
        ({"startingOffsets": '{"orders": 7}'}, "'orders' has 7"),
        ({"endingOffsets": "earliest"}, "expected latest"),
        ({"failOnDataLoss": "maybe"}, "expected true or false"),
        ({"maxOffsetsPerTrigger": "0"}, "above 0"),
        ({"maxOffsetsPerTrigger": "many"}, "above 0"),
        ({"kafka.isolation.level": "strict"}, "read_committed"),
        ({"subscribe": " , "}, "names of topics"),
        ({"kafka.bootstrap.servers": ""}, "is missing"),
    ],
)
def test_an_option_that_cannot_be_is_refused_with_what_to_do(extra: dict[str, str], complaint: str) -> None:
    with pytest.raises(OptionsError) as refusal:
        source_options({**BASE, **extra}, streaming=False)
    assert complaint in str(refusal.value)


def test_a_stream_has_no_end() -> None:
    with pytest.raises(OptionsError, match="no end"):
        source_options({**BASE, "endingOffsets": "latest"}, streaming=True)


def test_headers_are_in_the_schema_when_asked_for() -> None:
    assert includes_headers({**BASE, "includeHeaders": "true"})
    assert not includes_headers(BASE)


def test_a_sink_needs_a_broker_only() -> None:
    found = sink_options({"kafka.bootstrap.servers": "h:1"})
    assert found.topic is None
    assert found.compression == "none"


def test_a_sink_knows_its_codecs() -> None:
    with pytest.raises(OptionsError, match="zstd"):
        sink_options({"kafka.bootstrap.servers": "h:1", "kafka.compression.type": "rar"})
