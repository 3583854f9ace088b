"""What Kafka answered, kept in files, and how another answer differs from it.

A file is JSON lines, one for each step: `case`, `step`, `answer`. `differences.toml` lists where ours may differ, and why.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

DIRECTORY: Final = Path(__file__).parent / "transcripts"
DIFFERENCES: Final = Path(__file__).parent / "differences.toml"
MISSING: Final = "(absent)"
Step = tuple[str, Any]  # (label, answer as JSON)


def write(module: str, cases: dict[str, list[Step]]) -> None:
    lines = [
        json.dumps({"case": case, "step": label, "answer": answer}, separators=(",", ":"))
        for case, steps in cases.items()
        for label, answer in steps
    ]
    (DIRECTORY / f"{module}.jsonl").write_text("".join(line + "\n" for line in lines))


def read(module: str) -> dict[str, list[Step]]:
    """By case."""
    found: dict[str, list[Step]] = {}
    path = DIRECTORY / f"{module}.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        found.setdefault(entry["case"], []).append((entry["step"], entry["answer"]))
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    case: str
    step: str
    path: str
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return (
            f"{self.case} | {self.step} | {self.path}\n"
            f"    Kafka {json.dumps(self.kafka)}\n    ours  {json.dumps(self.ours)}"
        )


def compare(case: str, kafka: Sequence[Step], ours: Sequence[Step]) -> list[Difference]:
    """Step by step; steps of which one side has more are told one by one where their labels are unique."""
    found: list[Difference] = []
    labels = [label for label, _ in kafka], [label for label, _ in ours]
    if labels[0] != labels[1] and all(len(set(each)) == len(each) > 1 for each in labels):
        known, own = dict(kafka), dict(ours)
        for label in dict.fromkeys([*known, *own]):
            answers = known.get(label, MISSING), own.get(label, MISSING)
            found += (Difference(case, label, path, k, o) for path, k, o in _differing(*answers))
        return found
    for number in range(max(len(kafka), len(ours))):
        k_label, k_answer = kafka[number] if number < len(kafka) else (MISSING, MISSING)
        o_label, o_answer = ours[number] if number < len(ours) else (MISSING, MISSING)
        if k_label != o_label:
            found.append(Difference(case, f"step {number + 1}", "(label)", k_label, o_label))
            break
        found += (
            Difference(case, k_label, path, k, o) for path, k, o in _differing(k_answer, o_answer)
        )
    return found


def _differing(kafka: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, Kafka's, ours). Positions in lists are not part of a path, so that one entry of the list of reasons covers all."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in [*kafka, *(name for name in ours if name not in kafka)]:
            inner = f"{path}.{name}" if path else name
            yield from _differing(kafka.get(name, MISSING), ours.get(name, MISSING), inner)
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for k, o in zip(kafka, ours, strict=True):
            yield from _differing(k, o, f"{path}[]")
    elif kafka != ours:
        yield path or "answer", kafka, ours


@dataclass(frozen=True, slots=True)
class Allowed:
    """An entry of the list: patterns as in file names, the two values where only they are meant, and the reason."""

    case: str
    reason: str
    step: str = "*"
    path: str = "*"
    kafka: Any = None
    ours: Any = None

    def covers(self, difference: Difference) -> bool:
        return (
            fnmatchcase(difference.case, self.case)
            and fnmatchcase(difference.step, self.step)
            and fnmatchcase(difference.path, self.path.replace("[]", "[[]]"))
            and (self.kafka is None or _hashable(difference.kafka) in self.kafka)
            and (self.ours is None or _hashable(difference.ours) in self.ours)
        )


def _hashable(value: Any) -> Any:
    """True is not 1, and a list can stand in the list of reasons."""
    return json.dumps(value)


def allowed_differences() -> list[Allowed]:
    """TOML has no null: the text "null" stands for it."""
    entries = tomllib.loads(DIFFERENCES.read_text()).get("difference", [])
    for entry in entries:
        for side in {"kafka", "ours"} & set(entry):
            entry[side] = tuple(_hashable(None if v == "null" else v) for v in entry[side])
    return [Allowed(**entry) for entry in entries]


def unexplained(differences: Iterable[Difference], allowed: Sequence[Allowed]) -> list[Difference]:
    return [d for d in differences if not any(entry.covers(d) for entry in allowed)]
