from onelog.protocols.tank.settings import TankSettings


def test_a_frame_has_64_mib_unless_it_is_said() -> None:
    assert TankSettings().frame_bytes_max == 64 << 20
