"""Nobody mirrors this broker."""

from onelog.protocols.fluvio.messages.error import Other
from onelog.protocols.fluvio.messages.mirroring import MirroringRequest
from onelog.protocols.fluvio.versions import MIRROR
from tests.support.fluvio_peer import FluvioPeer


def test_a_cluster_that_wants_to_mirror_is_told_that_it_cannot(controller: FluvioPeer) -> None:
    answer = controller.call(MIRROR, MirroringRequest("edge"))
    assert (answer.name, answer.error, answer.topics) == ("edge", Other(text="mirroring is not served"), [])
