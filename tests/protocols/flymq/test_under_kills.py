"""FlyMQ and a broker that is killed: what was acknowledged is there behind it."""

from pathlib import Path

from onelog.client.flymq.client import FlyMQClient
from tests.support.served import Served


def test_what_was_acknowledged_is_there_behind_a_kill(tmp_path: Path) -> None:
    served = Served(tmp_path / "data").start()
    try:
        for number in range(3):
            with FlyMQClient(served.bootstrap, timeout_s=20) as client:
                made = client.produce("killed", b"%d" % number, key=b"k")
                client.commit("g", "killed", 0, number + 1)
            # Not a moment for anything that was put off.
            served.kill()
            served.start()
            assert made.offset == number
            with FlyMQClient(served.bootstrap, timeout_s=20) as client:
                values = [record.value for record in client.iterate("killed", 0, 0)]
                assert values == [b"%d" % each for each in range(number + 1)]
                assert client.position("g", "killed", 0) == number + 1
    finally:
        served.kill()
