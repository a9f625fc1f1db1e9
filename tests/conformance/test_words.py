"""Refusals are text: what a client shows its user has to be readable in every dialect's own form."""

import pytest

from tests.conformance.driver import Addresses
from tests.support.flymq_client import FlyMQClient, Form, Refused


@pytest.mark.parametrize("length", [1, 50, 64, 100, 150, 200])
def test_a_refusal_is_utf_8_in_the_documents_reading_of_flymq(addresses: Addresses, length: int) -> None:
    """The document's ERROR is a bool and a string; a string is UTF-8, however long the message is."""
    client = FlyMQClient.connect(addresses["shared"], Form.DOCUMENT)
    with pytest.raises(Refused) as refused:
        client.fetch("x" * length, 0, 0)
    client.close()
    said = refused.value.payload
    assert said[0] == 0
    assert int.from_bytes(said[1:3], "big") == len(said) - 3
    assert ("x" * length)[:40] in said[3:].decode("utf-8")
