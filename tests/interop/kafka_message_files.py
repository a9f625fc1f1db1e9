"""Kafka's published message files, out of the jar of its client, as facts.

python -m tests.interop.kafka_message_files    writes tests/golden/kafka/messages.txt anew
"""

import io
import urllib.request
import zipfile

from onelog.protocols.kafka.versions import APIS
from tests.support.kafka_facts import TABLE, Message, published

VERSION = "4.3.0"
JAR = f"https://repo1.maven.org/maven2/org/apache/kafka/kafka-clients/{VERSION}/kafka-clients-{VERSION}.jar"
FOLDER = "common/message/"
HEADERS = ("RequestHeader", "ResponseHeader")


def fetched() -> list[Message]:
    """The facts of the messages that we declare, as they are published."""
    with urllib.request.urlopen(JAR, timeout=300) as answer:
        jar = zipfile.ZipFile(io.BytesIO(answer.read()))

    def read(name: str, version_max: int = 99) -> Message:
        return published(jar.read(f"{FOLDER}{name}.json").decode(), version_max=version_max)

    found = list(map(read, HEADERS))
    for api in APIS.values():
        request = read(api.request.__name__)
        # That the last version is not stable yet is said of the request alone.
        found += [request, read(api.response.__name__, request.versions[1])]
    return found


def text(messages: list[Message]) -> str:
    """The table as it stands in its file."""
    head = f"# Facts from org.apache.kafka:kafka-clients:{VERSION}; tests/support/kafka_facts.py explains the words.\n"
    return "\n\n".join([head.rstrip("\n"), *map(str, messages)]) + "\n"


if __name__ == "__main__":
    TABLE.write_text(text(fetched()))
