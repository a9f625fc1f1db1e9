"""The cluster and who the peer is, over a real broker, without a socket."""

from pathlib import Path

from tests.support.flymq_peer import ADDRESS, peer_of_a_broker
from tests.support.flymq_wire import create, frame, i32, text, u64


def state(partition: int) -> bytes:
    alone = i32(1) + text("1")
    return i32(partition) + text("1") + text(str(ADDRESS)) + u64(1) + text("online") + alone + alone


async def test_every_partition_is_served_at_an_address_that_can_be_dialed(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        logs = text("logs") + i32(2) + state(0) + state(1)
        assert await peer.ask(0x53, text("logs")) == text("standalone") + i32(1) + logs
        await peer.granted(create("__hidden/one", 1))
        everything = text("standalone") + i32(2) + text("__hidden/one") + i32(1) + state(0) + logs
        assert await peer.ask(0x53, text("")) == everything
        assert await peer.ask(0x53) == everything
        assert await peer.refused(frame(0x53, text("none"))) == "topic not found: none"


async def test_the_cluster_is_this_broker_alone(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        refused = await peer.refused(frame(0x50, text("127.0.0.1:9093")))
        assert refused == "this broker is a cluster by itself and joins no other: '127.0.0.1:9093'"
        left = await peer.ask(0x51)
        assert left == b"\1" + text("this broker is in no cluster with others")
        status = await peer.ask(0x52)
        assert status == b"\1" + text(f"standalone: 1 node, online; node 1 at {ADDRESS}")


async def test_whoever_says_who_he_is_may_but_nobody_is_believed(tmp_path: Path) -> None:
    async with peer_of_a_broker(tmp_path) as peer:
        assert await peer.ask(0x72) == bytes(11)
        answer = await peer.exchange(frame(0x70, text("al") + text("secret")))
        assert (answer.opcode, answer.payload) == (0x71, b"\1" + text("al") + bytes(4) + bytes(2))
        assert await peer.ask(0x72) == bytes(11)
