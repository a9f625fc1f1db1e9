from onelog.binary.crc import crc32, crc32c


def test_the_check_values_of_both_checksums() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32(b"123456789") == 0xCBF43926


def test_a_checksum_goes_on_from_an_earlier_one() -> None:
    assert crc32c(memoryview(b"56789"), crc32c(b"1234")) == crc32c(b"123456789")
    assert crc32(b"56789", crc32(bytearray(b"1234"))) == crc32(b"123456789")
