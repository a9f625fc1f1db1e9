import pytest

from tests.interop.kafka_message_files import fetched, text
from tests.support.kafka_facts import TABLE


@pytest.mark.interop
def test_the_table_of_facts_is_what_kafka_publishes() -> None:
    assert TABLE.read_text() == text(fetched())
