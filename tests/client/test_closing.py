import pytest

from onelog.client.closing import Closing


class Door(Closing):
    is_closed = False

    def close(self) -> None:
        self.is_closed = True


def test_the_end_of_a_with_closes() -> None:
    with Door() as door:
        assert not door.is_closed
    assert door.is_closed


def test_an_error_closes_and_goes_on() -> None:
    door = Door()
    with pytest.raises(KeyError), door:
        raise KeyError
    assert door.is_closed
