"""Answers without what differs from run to run: ids become names in the order they are first seen, times and ports words.

Lists of structs and of texts are sorted, because no API of Kafka promises their order (its own comes from hash maps). Texts meant for
people are kept as present or absent: ours are our own words. Records are shown as what their batches say.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

from millstream.records.batch import iterate_batches
from millstream.records.record import iterate_records

_DAY_MS: Final = 86_400_000
_DROPPED: Final = frozenset({"throttleTimeMs"})
_TEXTS: Final = frozenset(
    {
        "errorMessage",
        "acknowledgeErrorMessage",
        "batchIndexErrorMessage",
        "documentation",
        "statusDetail",
    }
)
_NAMED: Final = {
    "topicId": "topic",
    "memberId": "member",
    "leader": "member",
    "producerId": "producer",
    "sessionId": "session",
    "clusterId": "cluster",
    "tokenId": "token",
    "clientInstanceId": "instance",
    "directoryId": "directory",
    "logDir": "directory",
    "replicaDirectoryId": "directory",
    "incarnationId": "incarnation",
}
"""Fields that hold an id, by the kind of thing it is an id of."""
_MASKED: Final = {
    "port": "port",
    "clientHost": "host",
    "hmac": "hmac",
    "finalizedFeaturesEpoch": "epoch",
    "brokerEpoch": "epoch",
    "totalBytes": "bytes",
    "usableBytes": "bytes",
    "subscriptionId": "id",
    "lastCaughtUpTimestamp": "time",
    "lastFetchTimestamp": "time",
}
_OF_A_RUN: Final = re.compile("r[0-9a-f]{6}-")
_NONE_IDS: Final = frozenset({"", "AAAAAAAAAAAAAAAAAAAAAA", -1})

Json = Any  # Any: JSON


def normalised(steps: list[tuple[str, Json]], run: str) -> list[tuple[str, Json]]:
    """`run` is what the names of this run begin with."""
    names = _Names()
    found = []
    for label, answer in steps:
        own = _without_others(_plain(answer), run)
        plain = _map_texts(own, lambda text: _without_run(text, run))
        found.append((label.replace(run, ""), names.apply(_sorted(plain, names))))
    return [(label, names.in_texts(answer)) for label, answer in found]


def _without_others(answer: Json, run: str) -> Json:
    """Leaves out resources of the broker that other cases have made."""
    listed = answer.get("configResources") if isinstance(answer, dict) else None
    if not listed:
        return answer
    mine = [
        each
        for each in listed
        if each["resourceName"].startswith(run) or not _OF_A_RUN.match(each["resourceName"])
    ]
    return {**answer, "configResources": mine}


def _without_run(text: str, run: str) -> str:
    """Bytes that hold a name are shown as text, or they would differ each time."""
    with contextlib.suppress(ValueError):
        content = base64.b64decode(text, validate=True)
        if run.encode() in content:
            text = content.decode("latin-1")
    return text.replace(run, "")


def _plain(value: Json) -> Json:
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if not isinstance(value, dict):
        return _time(value)
    found = {}
    for name, content in value.items():
        if name in _DROPPED:
            continue
        if name in _TEXTS:
            found[name] = None if content is None else "text" if content else ""
        elif name in _MASKED and content not in (-1, "", None):
            found[name] = _MASKED[name]
        elif name == "records" and isinstance(content, str):
            found[name] = list(_batches(bytes.fromhex(content)))
        else:
            found[name] = _plain(content)
    return found


def _time(value: Json) -> Json:
    """Milliseconds of about now; what cases themselves set lies further away."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return "now" if is_number and abs(value - time.time() * 1000) < 8 * _DAY_MS else value


def _batches(data: bytes) -> Iterator[Json]:
    """A fetch may end within a batch; that part is left out."""
    view = memoryview(data)
    for header, batch in iterate_batches(view):
        yield {
            "baseOffset": header.base_offset,
            "lastOffset": header.last_offset,
            "leaderEpoch": header.partition_leader_epoch,
            "attributes": header.attributes,
            "maxTimestamp": _time(header.max_timestamp),
            "producerId": header.producer_id,
            "producerEpoch": header.producer_epoch,
            "baseSequence": header.base_sequence,
            "records": [
                [r.offset, _time(r.timestamp), _text(r.key), _text(r.value)]
                for r in iterate_records(header, batch)
            ],
        }


def _text(content: bytes | None) -> str | None:
    return None if content is None else content[:80].decode("latin-1")


def _sorted(value: Json, names: _Names) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(content, names) for name, content in value.items()}
    if not isinstance(value, list):
        return value
    found = [_sorted(element, names) for element in value]
    if found and all(isinstance(element, dict) for element in found):
        found.sort(key=lambda element: _sort_key(element, names))
    elif found and all(isinstance(element, str) for element in found):
        found.sort()
    return found


def _sort_key(element: Json, names: _Names) -> tuple[str, str]:
    """Ids are different in every run: only those that have a name already may decide the order, and only between equals."""
    without = json.dumps(_with_ids(element, lambda _: ""), sort_keys=True)
    return without, json.dumps(_with_ids(element, names.known), sort_keys=True)


def _with_ids(value: Json, show: Callable[[Json], str]) -> Json:
    if isinstance(value, dict):
        return {n: show(c) if n in _NAMED else _with_ids(c, show) for n, c in value.items()}
    return [_with_ids(element, show) for element in value] if isinstance(value, list) else value


class _Names:
    def __init__(self) -> None:
        self._names: dict[Json, str] = {}
        self._counts: dict[str, int] = defaultdict(int)

    def known(self, value: Json) -> str:
        return self._names.get(value, "") if isinstance(value, str | int) else ""

    def apply(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self.apply(element) for element in value]
        if isinstance(value, dict):
            return {
                name: self._name(_NAMED[name], content)
                if name in _NAMED and isinstance(content, str | int)
                else self.apply(content)
                for name, content in value.items()
            }
        return value

    def _name(self, kind: str, value: Json) -> Json:
        if value in _NONE_IDS or (kind == "session" and value == 0):
            return value
        if isinstance(value, str) and re.fullmatch(r"[a-z]\w{0,15}", value):
            return value  # chosen by the case
        if value not in self._names:
            self._counts[kind] += 1
            self._names[value] = f"{kind} {self._counts[kind]}"
        return self._names[value]

    def in_texts(self, value: Json) -> Json:
        """Ids that stand inside other texts."""
        ids = [(known, name) for known, name in self._names.items() if isinstance(known, str)]
        return _map_texts(value, lambda text: _replaced(text, ids)) if ids else value


def _replaced(text: str, ids: list[tuple[str, str]]) -> str:
    for known, name in ids:
        if len(known) > 8:
            text = text.replace(known, name)
    return text


def _map_texts(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_map_texts(element, change) for element in value]
    if isinstance(value, dict):
        return {name: _map_texts(content, change) for name, content in value.items()}
    return value
