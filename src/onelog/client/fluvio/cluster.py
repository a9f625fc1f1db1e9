"""A cluster's addresses: its controllers, and which of its units has which partition.

Leaders are looked up once, and anew when somebody says that what was known is not so any more.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from onelog.client.errors import ConnectionLost
from onelog.client.fluvio.connection import Connection
from onelog.client.fluvio.errors import FluvioError, NoSuchPartition
from onelog.client.pool import Pool
from onelog.client.retry import Deadline, Retrier
from onelog.model import Address
from onelog.protocols.fluvio.messages.error import Code
from onelog.protocols.fluvio.messages.objects import Label, PartitionObject
from onelog.protocols.fluvio.messages.topics import ListRequest, ListResponse
from onelog.protocols.fluvio.messages.units import UnitObject
from onelog.protocols.fluvio.versions import CONTROLLER_APIS, LIST, UNIT_APIS

Leaders = Mapping[tuple[str, int], Address]


class Cluster:
    """One cluster. Owns its idle connections. Safe to use from several threads."""

    def __init__(self, addresses: Sequence[Address], *, retrier: Retrier) -> None:
        self.retrier = retrier
        self._addresses = addresses
        self._controllers: Pool[Connection] = Pool(_open_controller)
        self._units: Pool[Connection] = Pool(self.open_unit)
        self._leaders: Leaders = {}

    def close(self) -> None:
        """Close what is idle. Calls after it fail."""
        self._controllers.close()
        self._units.close()

    def forget(self) -> None:
        """Leaders are to be looked up anew."""
        self._leaders = {}

    def leader(self, topic: str, partition: int, deadline: Deadline) -> Address:
        """The unit that has a partition."""
        found = self._leaders.get((topic, partition)) or self.leaders(deadline).get((topic, partition))
        if found is None:
            count = sum(name == topic for name, _ in self._leaders)
            if count:
                raise NoSuchPartition(topic, partition, count)
            raise FluvioError(Code.TOPIC_NOT_FOUND, doing=f"looking for {topic}/{partition}")
        return found

    def leaders(self, deadline: Deadline) -> Leaders:
        """Every partition as it is now, and the address of the unit that has it."""
        doing = "looking for partitions"
        units: list[UnitObject] = self.listed(Label.UNIT, doing, deadline)
        addresses = {each.spec.id: _address(each) for each in units}
        found: dict[tuple[str, int], Address] = {}
        for is_system in (False, True):
            objects: list[PartitionObject] = self.listed(
                Label.PARTITION, doing, deadline, is_system=is_system
            )
            for each in objects:
                topic, _, index = each.name.rpartition("-")
                address = addresses.get(each.spec.leader)
                if address is not None:
                    found[topic, int(index)] = address
        self._leaders = found
        return found

    def listed(self, label: str, doing: str, deadline: Deadline, *, is_system: bool = False) -> list[Any]:
        """The objects of one kind."""
        request = ListRequest(label, is_system=is_system)
        answer: ListResponse = self.ask_controller(LIST, request, doing, deadline)
        return answer.objects

    def open_unit(self, address: Address, deadline: Deadline) -> Connection:
        """A connection to a unit, of one's own."""
        return Connection(address, deadline, apis=UNIT_APIS)

    def ask_controller(self, key: int, request: Any, doing: str, deadline: Deadline) -> Any:
        """One attempt at each address until one can be reached."""
        for address in self._addresses[:-1]:
            try:
                return _exchange(self._controllers, address, key, request, doing, deadline)
            except ConnectionLost as error:
                if error.sent:
                    raise
        return _exchange(self._controllers, self._addresses[-1], key, request, doing, deadline)

    def ask_unit(
        self, topic: str, partition: int, key: int, request: Any, doing: str, deadline: Deadline
    ) -> Any:
        """One attempt at the unit that has the partition."""
        address = self.leader(topic, partition, deadline)
        return _exchange(self._units, address, key, request, doing, deadline)


def _open_controller(address: Address, deadline: Deadline) -> Connection:
    return Connection(address, deadline, apis=CONTROLLER_APIS)


def _exchange(
    pool: Pool[Connection], address: Address, key: int, request: Any, doing: str, deadline: Deadline
) -> Any:
    with pool.borrow(address, deadline) as connection:
        return connection.ask(key, request, doing=doing, deadline=deadline)


def _address(unit: UnitObject) -> Address:
    """Where clients find it: by its name, or else its address."""
    public = unit.spec.public
    hosts = [each.hostname or each.ip for each in public.ingress]
    return Address(next((host for host in hosts if host), "127.0.0.1"), public.port)
