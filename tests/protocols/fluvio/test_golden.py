"""Exchanges captured from Fluvio's own programs and cluster: bytes to values and back."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from onelog.binary.message import codec
from onelog.protocols.fluvio.messages.error import Fault, Other, code_of
from onelog.protocols.fluvio.messages.header import RequestHeader
from onelog.protocols.fluvio.messages.objects import (
    Assigned,
    Computed,
    Label,
    PartitionObject,
    TopicObject,
    TopicSpec,
)
from onelog.protocols.fluvio.messages.topics import AddPartition
from onelog.protocols.fluvio.messages.units import UnitObject
from onelog.protocols.fluvio.versions import CONTROLLER_APIS, UNIT_APIS, Api
from tests.support.fluvio_golden import Frame, capture, names

CONTROLLERS = [
    "cli-01-apiversions-sc",
    "cli-25-add-partition",
    "cli-26-create-options",
    "py-01-apiversions-sc",
    *(name for name in names("py-0") if name not in ("py-01-apiversions-sc", "py-02-apiversions-spu")),
    "py-21-delete-system",
    "py-22-delete-topic-pushes",
]
UNITS = ["cli-02-apiversions-spu", "py-02-apiversions-spu"]
NONE = "none"


def said(value: Any) -> Any:
    """As the captures write what is not there."""
    return NONE if value is None else value


@pytest.mark.parametrize("name", CONTROLLERS + UNITS)
def test_a_captured_exchange_says_what_was_captured_and_is_written_again_byte_for_byte(name: str) -> None:
    apis = UNIT_APIS if name in UNITS else CONTROLLER_APIS
    frames = capture(name)
    asked = {frame.correlation_id: frame for frame in frames if frame.is_request}
    for frame in frames:
        if frame.is_request:
            api = apis[frame.key]
            header, at = codec(RequestHeader).decode(frame.data, 4)
            assert header.client_id == frame.values["client"]
            form, version = api.request, frame.version
        else:
            # Pushes answer a Watch that another capture has.
            api, version = apis[frame.values["answers_key"]], 19
            form, at = api.response, 8
            assert frame.correlation_id in asked or frame.values["answers_key"] == 1004
        message, end = form.decode(memoryview(frame.data), at, version)
        assert end == len(frame.data)
        assert b"".join(form.encode(message, version)) == frame.data[at:]
        assert seen(api, message, is_request=frame.is_request) == expected(frame)


def expected(frame: Frame) -> dict[str, Any]:
    """What a capture says of the body."""
    ignored = {"dir", "key", "version", "correlation", "client", "left", "answers_key"}
    return {key: value for key, value in frame.values.items() if key not in ignored}


def seen(api: Api, message: Any, *, is_request: bool) -> dict[str, Any]:
    """What we read, in the words of the captures."""
    return (REQUESTS if is_request else RESPONSES)[api.name](message)


def fault(error: Fault) -> dict[str, Any]:
    if isinstance(error, Other):
        return {"code": 2, "text": error.text}
    if isinstance(error, int):
        return {"code": error}
    return {"code": code_of(error).value, "kind": error.kind, "name": error.name}


def status(message: Any) -> dict[str, Any]:
    return {"name": message.name, "error": fault(message.error), "message": said(message.text)}


def created(message: Any) -> dict[str, Any]:
    spec = codec(TopicSpec, 19).encode_bytes(message.spec)
    return {
        "label": message.label,
        "name": message.name,
        "dry_run": message.is_dry_run,
        "timeout": said(message.timeout_ms),
        "spec_hex": spec.hex(" "),
    }


def updated(message: Any) -> dict[str, Any]:
    assert isinstance(message.action, AddPartition)
    count = message.action.count.to_bytes(4, "big").hex(" ")
    return {"label": message.label, "name": message.key, "action": 0, "rest": count}


def options(spec: Any) -> dict[str, Any]:
    return {
        "cleanup": NONE if spec.cleanup is None else {"tag": 0, "seconds": spec.cleanup.retention_s},
        "storage": NONE
        if spec.storage is None
        else {
            "segment_size": said(spec.storage.segment_bytes),
            "max_partition_size": said(spec.storage.partition_bytes_max),
        },
        "compression": spec.compression,
        "dedup": said(spec.deduplication),
        "system": spec.is_system,
    }


def topic(found: TopicObject) -> dict[str, Any]:
    replicas = found.spec.replicas
    assert isinstance(replicas, Computed)
    return {
        "name": found.name,
        "spec": {
            "replica": {
                "computed": {
                    "partitions": replicas.partition_count,
                    "replication": replicas.replication_factor,
                    "ignore_rack": replicas.ignores_racks,
                }
            },
            **options(found.spec),
        },
        "status": {
            "resolution": found.status.resolution,
            "replica_map": [[place.partition, place.replicas] for place in found.status.replica_map],
            "mirror_map": found.status.mirror_map,
            "reason": found.status.reason,
        },
    }


def partition(found: PartitionObject) -> dict[str, Any]:
    spec, how = found.spec, found.status
    return {
        "name": found.name,
        "spec": {
            "leader": spec.leader,
            "replicas": spec.replicas,
            **options(spec),
            "mirror": said(spec.mirror),
        },
        "status": {
            "resolution": how.resolution,
            "leader": {"spu": how.leader.unit, "hw": how.leader.high_watermark, "leo": how.leader.log_end},
            "lsr": how.live_replicas,
            "replicas": how.followers,
            "size": how.size,
            "being_deleted": how.is_being_deleted,
            "base_offset": how.base_offset,
        },
    }


def unit(found: UnitObject) -> dict[str, Any]:
    public, private = found.spec.public, found.spec.private
    ways = [{"hostname": said(way.hostname), "ip": said(way.ip)} for way in public.ingress]
    return {
        "name": found.name,
        "spec": {
            "id": found.spec.id,
            "type": found.spec.type,
            "public": {"port": public.port, "ingress": ways, "enc": public.encryption},
            "private": {"port": private.port, "host": private.host, "enc": private.encryption},
            "rack": said(found.spec.rack),
            "local": said(found.spec.local),
        },
        "status": {"resolution": found.resolution},
    }


OBJECTS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    Label.TOPIC: topic,
    Label.PARTITION: partition,
    Label.UNIT: unit,
}
REQUESTS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "ApiVersions": lambda m: {
        "client_version": m.client_version,
        "os": m.client_os,
        "arch": m.client_arch,
    },
    "Create": created,
    "Delete": lambda m: {"label": m.label, "name": m.key, "force": m.is_forced},
    "Update": updated,
    "List": lambda m: {
        "label": m.label,
        "filters": m.names,
        "summary": m.is_summary,
        "system": m.is_system,
    },
    "Watch": lambda m: {"label": m.label, "epoch": m.epoch, "summary": m.is_summary},
}
RESPONSES: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "ApiVersions": lambda m: {
        "error": fault(m.error),
        "keys": [[api.key, api.version_min, api.version_max] for api in m.apis],
        "platform": m.platform_version,
    },
    "Create": status,
    "Delete": status,
    "Update": status,
    "List": lambda m: {"label": m.label, "items": [OBJECTS[m.label](each) for each in m.objects]},
    "Watch": lambda m: {
        "label": m.label,
        "epoch": m.epoch,
        "changes": [{"kind": each.kind, **OBJECTS[m.label](each.object)} for each in m.changes],
        "all": [OBJECTS[m.label](each) for each in m.all],
    },
}


def test_an_assignment_is_read_and_written_as_the_document_of_it_says() -> None:
    data = bytes.fromhex(
        "00 00000002 00000000 00000001 00001389 00 00000001 00000001 00001389 00 0000 04 00 00"
    )
    spec, end = codec(TopicSpec, 19).decode(data)
    assert end == len(data)
    assert isinstance(spec.replicas, Assigned)
    assert [(p.id, p.replicas, p.mirror) for p in spec.replicas.partitions] == [
        (0, [5001], None),
        (1, [5001], None),
    ]
    assert codec(TopicSpec, 19).encode_bytes(spec) == data
