"""Requests with tens of thousands of elements in any list that a request has: nobody else waits for them.

The requests are made from the schemas, so an API or a list that is added later is tried too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from millstream.broker.requests.registry import BROKER_HANDLERS
from millstream.protocol.api import ApiKey, request_class
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.json_form import struct_class
from millstream.protocol.schema import INTEGERS, Field, Struct
from tests.support.attacks import AttackedNode
from tests.support.clients.raw_client import request_frame

ELEMENTS: Final = 30_000
Path = tuple[str, ...]


def _lists(kind: type, layout: Struct, version: int) -> Iterator[Path]:
    for each in layout.fields:
        if version not in each.versions:
            continue
        if each.is_array:
            yield (each.attribute,)
        if each.struct is not None:
            for inner in _lists(struct_class(kind, each.attribute), each.struct, version):
                yield (each.attribute, *inner)


TRIED: Final = {
    key: paths
    for key, handler in BROKER_HANDLERS.items()
    if key is not ApiKey.UNREGISTER_BROKER  # it would be obeyed
    if (
        paths := [
            *_lists(request_class(key), schema_of(request_class(key)).root, handler.api.highest)
        ]
    )
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedNode]:
    with AttackedNode(tmp_path_factory.mktemp("large")) as node:
        yield node


@pytest.mark.parametrize("key", TRIED, ids=lambda key: key.name)
def test_a_request_with_a_long_list_delays_nobody(node: AttackedNode, key: ApiKey) -> None:
    kind, version = request_class(key), BROKER_HANDLERS[key].api.highest
    root = schema_of(kind).root
    for path in TRIED[key]:
        frame = request_frame(key, version, _message(kind, root, version, path))
        with node.attack(), node.client() as client:
            client.send(frame)
            client.read_frame()


def _message(kind: type, layout: Struct, version: int, path: Path, number: int = 0) -> Any:
    """With `ELEMENTS` in the list at `path`, one in those around it, none in others."""
    values: dict[str, Any] = {}
    for each in layout.fields:
        leads = path[:1] == (each.attribute,)
        if version not in each.versions or (each.tag is not None and not leads):
            continue
        inner = path[1:] if leads else ()
        if each.is_array:
            count = (1 if inner else ELEMENTS) if leads else 0
            values[each.attribute] = [
                _value(kind, each, version, inner, number) for number in range(count)
            ]
        else:
            values[each.attribute] = _value(kind, each, version, inner, number)
    return kind(**values)


def _value(kind: type, each: Field, version: int, path: Path, number: int) -> Any:
    if each.struct is not None:
        return _message(struct_class(kind, each.attribute), each.struct, version, path, number)
    match each.type:
        case "string":
            return "g" if each.attribute in ("group_id", "transactional_id") else f"x{number}"
        case "uuid":
            return number.to_bytes(16, "big")
        case "bytes" | "records":
            return b""
        case "bool":
            return False
        case "float64":
            return 1.0
        case _:
            counts = each.is_array or "partition" in each.attribute or "index" in each.attribute
            return number % (INTEGERS[each.type][-1] + 1) if counts else 1
