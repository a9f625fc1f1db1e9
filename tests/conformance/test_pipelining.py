"""Many requests under way on one connection: each has its answer, and the log has their order."""

from tests.conformance.driver import Driver, texts

COUNT = 200


def test_requests_sent_ahead_are_stored_in_their_order(driver: Driver, topic: str) -> None:
    driver.create_topic(topic)
    values = [f"{i}" for i in range(COUNT)]
    driver.produce_pipelined(topic, [v.encode() for v in values])
    assert texts(driver.read(topic)) == values
