from onelog.client.rustlog.answers import PartitionState


def test_what_is_not_told_is_none() -> None:
    assert PartitionState(0, 5) == (0, 5, None, None)
