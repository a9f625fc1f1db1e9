"""A scripted server whose frames are FlyMQ's: a script gets a whole frame and returns a whole one."""

import socket

from tests.support.scripted_server import HANG_UP, ScriptedServer, exactly

__all__ = ["HANG_UP", "ScriptedFlyMQ"]


class ScriptedFlyMQ(ScriptedServer):
    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while (head := exactly(connection, 8)) is not None:
                payload = exactly(connection, int.from_bytes(head[4:], "big"))
                if payload is None:
                    return
                self.frames.append(head + payload)
                answer = self._script(head + payload)
                if answer is HANG_UP:
                    return
                assert isinstance(answer, bytes)
                connection.sendall(answer)
