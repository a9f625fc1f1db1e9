import struct

from tests.support import tank_wire as wire
from tests.support.tank_peer import TankPeer
from tests.support.virtual_clock import START_MS


def test_the_status_counts_topics_and_partitions(peer: TankPeer) -> None:
    peer.house.make("a", 3)
    peer.house.make("b", 2)
    answer = peer.ask(wire.frame(0x0A, struct.pack("<I", 7)))
    counts = struct.pack("<IBBIIIIII", 7, 0, 0, 2, 5, 5, 0, START_MS // 1000, 400)
    assert answer == wire.frame(0x0A, counts)


def test_a_single_broker_has_no_topology(peer: TankPeer) -> None:
    answer = peer.ask(wire.frame(0x0C, struct.pack("<IB", 9, 0)))
    assert answer == bytes.fromhex("0c 06000000 09000000 ffff")
