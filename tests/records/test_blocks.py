from onelog.records import blocks


def test_a_block_is_copied_into_its_place_and_nowhere_else() -> None:
    target = bytearray(b"abcdefgh")
    blocks.copy(blocks.start(target), 2, blocks.start(b"0123456"), 3, 3)
    assert target == b"ab345fgh"


def test_a_block_of_no_bytes_changes_nothing() -> None:
    target = bytearray(b"ab")
    blocks.copy(blocks.start(target), 2, blocks.start(b""), 0, 0)
    assert target == b"ab"
