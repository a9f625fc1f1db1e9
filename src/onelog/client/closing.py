"""What is closed when its `with` ends."""

from types import TracebackType
from typing import Protocol, Self


class Closing(Protocol):
    """Usable in a `with`; its class says in close() what there is to close."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is held."""
        ...
