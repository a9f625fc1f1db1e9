"""kcat 1.7 from Debian, on librdkafka 2.0: the oldest client that is driven here."""

import shutil
import subprocess

import pytest

from onelog.protocols.kafka.recordset import received
from onelog.protocols.kafka.versions import FETCH
from onelog.records.batch import Batch
from tests.support.kafka_talk import fetch_request
from tests.support.kafka_wire import Wire

KCAT = shutil.which("kcat")
pytestmark = [
    pytest.mark.real,
    pytest.mark.interop,
    pytest.mark.skipif(KCAT is None, reason="kcat is not installed; `apt-get install kcat` brings it"),
]
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def kcat(bootstrap: str, *arguments: str, stdin: bytes = b"") -> bytes:
    assert KCAT is not None
    done = subprocess.run(
        [KCAT, "-b", bootstrap, *arguments], input=stdin, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_produced_is_consumed_with_every_codec(bootstrap: str, topic: str, codec: str) -> None:
    lines = b"".join(b"k%d:value %d\n" % (number, number) for number in range(50))
    options = ["-z", codec, "-X", "enable.idempotence=true", "-H", "h=1"]
    kcat(bootstrap, "-P", "-t", topic, "-K", ":", *options, stdin=lines)
    text = kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-f", "%p %o %h %k:%s\n")
    assert text == b"".join(b"0 %d h=1 k%d:value %d\n" % (n, n, n) for n in range(50))


@pytest.mark.parametrize("codec", CODECS)
def test_batches_stand_in_the_log_as_they_were_compressed(bootstrap: str, topic: str, codec: str) -> None:
    lines = b"".join(b"value value value value %d\n" % number for number in range(100))
    kcat(bootstrap, "-P", "-t", topic, "-z", codec, stdin=lines)
    batches = fetched(bootstrap, topic)
    assert {batch.codec.value for batch in batches} == {CODECS[codec]}
    values = [record.value for batch in batches for record in batch.records()]
    assert values == lines.splitlines(), "our decoder reads what librdkafka compressed"


def test_metadata_and_offsets_are_told(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, stdin=b"a\nb\n")
    assert f'topic "{topic}" with 1 partitions' in kcat(bootstrap, "-L", "-t", topic).decode()
    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:-1").decode().split()[-1] == "2"
    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:-2").decode().split()[-1] == "0"


def test_a_null_value_and_a_null_key_stay_null(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, "-K", ":", "-Z", stdin=b"k:\n:v\n")
    assert kcat(bootstrap, "-C", "-t", topic, "-e", "-q", "-f", "%K %S\n") == b"1 -1\n-1 1\n"


def test_a_reader_from_an_offset_gets_that_record_first(bootstrap: str, topic: str) -> None:
    kcat(bootstrap, "-P", "-t", topic, stdin=b"a\nb\nc\n")
    assert kcat(bootstrap, "-C", "-t", topic, "-o", "1", "-e", "-q") == b"b\nc\n"


def fetched(bootstrap: str, topic: str) -> list[Batch]:
    host, port = bootstrap.rsplit(":", 1)
    with Wire(host, int(port)) as wire:
        answer = wire.ask(FETCH, 12, fetch_request(0, topic=topic))
    return received(answer.responses[0].partitions[0].records, where=topic)
