"""What a client wants done with records on the way: read to be refused by name, there is no engine."""

from onelog.binary.fields import array16, bytes32, choice8, option, text16, u32, u64
from onelog.binary.message import LENIENT, message


@message(lengths=LENIENT)
class Predefined:
    """One that the cluster knows by this name."""

    name: str = text16()


@message(lengths=LENIENT)
class AdHoc:
    """One that the client brings along, compressed by gzip."""

    program: bytes = bytes32()


@message(lengths=LENIENT)
class Aggregate:
    """What it begins with."""

    accumulator: bytes = bytes32()


@message(lengths=LENIENT)
class Join:
    """With another topic."""

    topic: str = text16()


@message(lengths=LENIENT)
class JoinStream:
    """With a derived stream."""

    topic: str = text16()
    stream: str = text16()


@message()
class Generic:
    """A kind that the client leaves open, within a context."""

    context: object = choice8({1: Aggregate, 2: Join, 3: JoinStream})


@message(lengths=LENIENT)
class Param:
    """A name and what it says."""

    key: str = text16()
    value: str = text16()


@message()
class Age:
    """How far back, in time."""

    seconds: int = u64()
    nanoseconds: int = u32()


@message()
class Lookback:
    """How far back."""

    last: int = u64()
    age: Age | None = option(Age, since=21)


@message(lengths=LENIENT)
class SmartModuleInvocation:
    """One that is to look at every record."""

    module: Predefined | AdHoc = choice8({0: Predefined, 1: AdHoc}, is_closed=True)
    kind: object = choice8({3: Aggregate, 5: Join, 6: JoinStream, 7: Generic})
    params: list[Param] = array16(Param)
    lookback: Lookback | None = option(Lookback, since=20)
    name: str | None = option(text16(), since=25)


@message(lengths=LENIENT)
class DerivedStream:
    """Records that are made of others on the way; gone from newer clients."""

    name: str = text16()
    params: list[Param] = array16(Param)
    lookback: Lookback | None = option(Lookback, since=20)
