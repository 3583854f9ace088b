"""Runs codec oracle cases through our codec, both ways: `python tests/oracle/run_codec.py FILE...`.

A file is JSON lines, `.gz` or not. A line has `message`, `version` and `hex`; then
    json            what Kafka's own class reads, and writes as exactly these bytes
    json, left      what it reads, with so many bytes left over; such bytes are only read
    error           Kafka refuses the bytes, so must we
    note            `json` of a hand-made body, which Kafka may write otherwise; such bytes are only read
Prints each difference, then `N passed, N failed`; exits 1 if any failed.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from millstream.errors import MalformedMessage, MillstreamError, UnsupportedVersion
from millstream.protocol.catalogue import Entry, every_message
from millstream.protocol.json_form import from_json, to_json

Case = dict[str, Any]  # a line of JSON


def read_cases(path: Path) -> Iterator[tuple[int, Case]]:
    """(line number, case) of every line that is not empty."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, json.loads(line)


def differences(case: Case) -> list[str]:
    """What our codec does differently from Kafka's at one case; nothing where they agree."""
    entry = every_message().get(case["message"])
    if entry is None:
        return ["we have no such message"]
    if "error" in case:
        return _refused(case, entry)
    raw = bytes.fromhex(case["hex"])
    found = _read(case, entry, raw)
    if not found and "left" not in case and "note" not in case:
        found = _written(case, entry, raw)
    return found


def _refused(case: Case, entry: Entry) -> list[str]:
    try:
        message, _ = entry.kind.decode(memoryview(bytes.fromhex(case["hex"])), 0, case["version"])
    except (MalformedMessage, UnsupportedVersion):
        return []
    return [f"Kafka refuses it ({case['error']}), we read {message}"]


def _read(case: Case, entry: Entry, raw: bytes) -> list[str]:
    version = case["version"]
    try:
        message, end = entry.kind.decode(memoryview(raw), 0, version)
    except MillstreamError as error:
        return [f"cannot be read: {error}"]
    found = []
    read = to_json(message, version)
    if read != case["json"]:
        found.append(
            f"reads as {json.dumps(read, ensure_ascii=False)}, not {json.dumps(case['json'], ensure_ascii=False)}"
        )
    if len(raw) - end != case.get("left", 0):
        found.append(f"leaves {len(raw) - end} bytes, not {case.get('left', 0)}")
    return found


def _written(case: Case, entry: Entry, raw: bytes) -> list[str]:
    """The value of the JSON, and the value that was read, both written."""
    version = case["version"]
    found = []
    read, _ = entry.kind.decode(memoryview(raw), 0, version)
    for origin, message in (
        ("JSON", from_json(entry.kind, case["json"], version)),
        ("bytes", read),
    ):
        out = bytearray()
        try:
            message.encode(out, version)
        except MillstreamError as error:
            found.append(f"the value from {origin} cannot be written: {error}")
            continue
        if out != raw:
            found.append(f"the value from {origin} is written as {out.hex()}, not {raw.hex()}")
    return found


def main(files: list[str]) -> int:
    if not files:
        sys.stderr.write(f"{__doc__}")
        return 2
    passed = failed = 0
    for name in files:
        for number, case in read_cases(Path(name)):
            found = differences(case)
            passed += not found
            failed += bool(found)
            for difference in found:
                where = f"{name}:{number}: {case['message']} v{case['version']}"
                sys.stdout.write(f"{where}: {difference}\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
