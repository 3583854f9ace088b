"""Requests that nobody should send: valid ones of every API by the schemas, and the same with bits, lengths and ends broken.

Everything comes from one seed. Names and ids are drawn from small pools, so that requests meet what others have left behind;
what a broker hands out (member ids, producer ids, session ids) is put into the pools by `learn`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from millstream.errors import EncodeError
from millstream.model import ZERO_UUID
from millstream.protocol.api import VERSIONS, ApiKey, request_class
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.frames import encode_request
from millstream.protocol.json_form import struct_class
from millstream.protocol.message_values import MessageValue
from millstream.protocol.schema import INTEGERS, Field, Struct
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.record import Record

TOPICS: Final = tuple(f"topic-{number}" for number in range(8))
_KEPT: Final = 64
"""Ids of one kind that are remembered, frames that are there to be broken."""
_SIZES_THE_WORLD: Final = frozenset({ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS})
"""Not broken bit by bit: one flipped bit could ask for ten thousand partitions, which a broker would make."""
_SUICIDAL: Final = frozenset({ApiKey.UNREGISTER_BROKER})
"""Would be obeyed."""
_EXTREMES: Final = (0, 1, -1, 2, 3, 7, 100, -2, 2**15 - 1, 2**31 - 1, -(2**31), 2**63 - 1)
_TIMES_MS: Final = (-1, 0, 1, 50, 100, 6_000, 10_000, 2**31 - 1)
_TEXTS: Final = ("", "x", "a b", "é" * 9, "\0", "range", "consumer", "retention.ms", "1", "y" * 300)


@dataclass
class Pools:
    """What fields of these names are drawn from."""

    topic_ids: list[bytes] = field(default_factory=lambda: [ZERO_UUID, b"u" * 16])
    learned: dict[str, deque[Any]] = field(default_factory=dict)

    def learn(self, response: object) -> None:
        """Ids of a response, however deep."""
        pending: list[Any] = [response]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                pending += item[:8]
            elif isinstance(item, MessageValue):
                for name in item.field_names():
                    value = getattr(item, name)
                    if name in _LEARNED and value not in (None, "", -1):
                        self.learned.setdefault(name, deque(maxlen=_KEPT)).append(value)
                    elif isinstance(value, (list, MessageValue)):
                        pending.append(value)


_LEARNED: Final = frozenset(
    {"member_id", "producer_id", "producer_epoch", "session_id", "generation_id", "member_epoch"}
)
_ALSO: Final = {
    "generation_id_or_member_epoch": "member_epoch",
    "v3_and_below_producer_id": "producer_id",
    "v3_and_below_producer_epoch": "producer_epoch",
}


class RequestSource:
    """An endless supply of frames, without their size prefix."""

    def __init__(self, seed: int, keys: Iterable[ApiKey], pools: Pools) -> None:
        self.random = random.Random(seed)
        self.pools = pools
        self._keys = [key for key in keys if key not in _SUICIDAL]
        self._sound: dict[ApiKey, deque[bytes]] = {key: deque(maxlen=_KEPT) for key in self._keys}

    def frame(self) -> bytearray:
        """Two of three are broken."""
        key = self.random.choice(self._keys)
        kept = self._sound[key]
        if key in _SIZES_THE_WORLD or len(kept) < 8 or self.random.random() < 1 / 3:
            return bytearray(self._sound_frame(key))
        return self.random.choice(BREAKAGES)(bytearray(self.random.choice(kept)), self.random)

    def _sound_frame(self, key: ApiKey) -> bytes:
        while True:
            version = self.random.randint(VERSIONS[key].lowest, VERSIONS[key].highest)
            kind = request_class(key)
            message = self._struct(kind, schema_of(kind).root, version, 0)
            try:
                pieces = encode_request(key, version, self.random.getrandbits(31), "fuzz", message)
            except EncodeError:
                continue  # a value that a schema does not allow in this version
            found = b"".join(bytes(piece) for piece in pieces)[4:]  # type: ignore[arg-type]  # no splices here
            self._sound[key].append(found)
            return found

    def _struct(self, kind: type, layout: Struct, version: int, depth: int) -> Any:
        values = {
            each.attribute: self._value(kind, each, version, depth)
            for each in layout.fields
            if version in each.versions and (each.tag is None or self.random.random() < 0.2)
        }
        return kind(**values)

    def _value(self, kind: type, each: Field, version: int, depth: int) -> Any:
        if each.nullable is not None and version in each.nullable and self.random.random() < 0.15:
            return None
        if each.is_array:
            count = self.random.choice((0, 1, 1, 1, 2, 3)) if depth < 4 else 0
            return [self._element(kind, each, version, depth) for _ in range(count)]
        return self._element(kind, each, version, depth)

    def _element(self, kind: type, each: Field, version: int, depth: int) -> Any:
        if each.struct is not None:
            return self._struct(struct_class(kind, each.attribute), each.struct, version, depth + 1)
        match each.type:
            case "string":
                return self._text(each.attribute)
            case "uuid":
                return self.random.choice(self.pools.topic_ids)
            case "bytes":
                return self.random.randbytes(self.random.choice((0, 1, 7, 40)))
            case "records":
                return self._records()
            case "bool":
                return self.random.random() < 0.5
            case "float64":
                return float(self.random.choice(_EXTREMES))
            case _:
                return self._number(each)

    def _text(self, name: str) -> str:
        known = self.pools.learned.get(name)
        if known and self.random.random() < 0.7:
            return str(self.random.choice(known))
        if self.random.random() < 0.15:
            return self.random.choice(_TEXTS)
        if "topic" in name or name == "name":
            return self.random.choice(TOPICS)
        if "transactional" in name:
            return f"transaction-{self.random.randrange(4)}"
        if "group" in name or name in ("key", "coordinator_keys"):
            return f"group-{self.random.randrange(6)}"
        return self.random.choice(_TEXTS)

    def _number(self, each: Field) -> int:
        name = each.attribute
        allowed = INTEGERS[each.type]
        known = self.pools.learned.get(_ALSO.get(name, name))
        if known and self.random.random() < 0.7:
            value = int(self.random.choice(known))
        elif name in ("num_partitions", "count", "replication_factor"):
            value = self.random.choice((-1, 0, 1, 2, 3))
        elif name.endswith("_ms"):
            value = self.random.choice(_TIMES_MS)
        else:
            value = (
                self.random.choice(_EXTREMES)
                if self.random.random() < 0.5
                else self.random.randrange(4)
            )
        return value if value in allowed else self.random.choice((allowed[0], allowed[-1], 0))

    def _records(self) -> memoryview:
        options = BatchOptions(
            codec=self.random.choice(tuple(Codec)),
            producer_id=self._id("producer_id"),
            producer_epoch=self._id("producer_epoch"),
            base_sequence=self.random.choice((-1, 0, 0, 1, 2, 2**31 - 1)),
            is_transactional=self.random.random() < 0.3,
            is_control=self.random.random() < 0.05,
        )
        records = [
            Record(i, self.random.choice((-1, 0, 1_700_000_000_000)), self.random.choice((None, b"k")), b"v" * self.random.randrange(50))
            for i in range(self.random.choice((1, 1, 2, 5)))
        ]  # fmt: skip
        data = build_batch(records, options)
        if self.random.random() < 0.4:
            data = self.random.choice(BREAKAGES)(data, self.random)
        return memoryview(data)

    def _id(self, name: str) -> int:
        known = self.pools.learned.get(name)
        return int(self.random.choice(known)) if known and self.random.random() < 0.7 else -1


def _flip(data: bytearray, chance: random.Random) -> bytearray:
    for _ in range(chance.choice((1, 1, 2, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return data


def _cut(data: bytearray, chance: random.Random) -> bytearray:
    return data[: chance.randrange(len(data))]


def _lie(data: bytearray, chance: random.Random) -> bytearray:
    """Extreme lengths, counts and varints."""
    at = chance.randrange(len(data))
    lie = chance.choice(
        (
            b"\xff",
            b"\x7f",
            b"\xff\xff\xff\xff",
            b"\x7f\xff\xff\xff",
            b"\x80" * 9,
            b"\xff\xff\xff\xff\x0f",
            b"\0\0",
        )
    )
    data[at : at + len(lie)] = lie
    return data


def _repeat(data: bytearray, chance: random.Random) -> bytearray:
    at, end = sorted((chance.randrange(len(data)), chance.randrange(len(data))))
    return data[:end] + data[at:end] * chance.choice((1, 2, 30)) + data[end:]


def _noise(data: bytearray, chance: random.Random) -> bytearray:
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.randrange(40)) + data[at:]


def _other_version(data: bytearray, chance: random.Random) -> bytearray:
    data[2:4] = chance.choice((0, 1, 2, 5, 9, 13, 0x7FFF, 0xFFFF)).to_bytes(2, "big")
    return data


BREAKAGES: Final[tuple[Callable[[bytearray, random.Random], bytearray], ...]] = (
    _flip,
    _flip,
    _cut,
    _lie,
    _lie,
    _repeat,
    _noise,
    _other_version,
)
