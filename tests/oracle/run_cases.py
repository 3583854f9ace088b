"""Runs case files of the streams oracle through our DSL on the test driver.

    python tests/oracle/run_cases.py [--specs DIR]... FILE...

Case files are JSON lines (also .gz). A case names its specification, found in the directories given (default:
those in the repository), or carries it. Each difference is printed, then `N passed, N failed`; exit 1 if any failed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from streams.case_runner import CaseRunner

OWN_DATA = Path(__file__).parent / "streams"


def read_text(path: Path) -> str:
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def load_specs(directories: list[Path]) -> dict[str, dict]:
    specs = {}
    for directory in directories:
        for path in sorted([*directory.glob("*.json"), *directory.glob("*.json.gz")]):
            specs.update({spec["name"]: spec for spec in json.loads(read_text(path))})
    return specs


def load_cases(paths: list[Path]) -> list[dict]:
    lines = (line for path in paths for line in read_text(path).splitlines())
    return [json.loads(line) for line in lines if line.strip()]


def spec_of(case: dict, specs: dict[str, dict]) -> dict:
    spec = case["spec"]
    return spec if isinstance(spec, dict) else specs[spec]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=Path, action="append", default=[])
    parser.add_argument("--quiet", action="store_true", help="count by area instead of printing")
    parser.add_argument("files", type=Path, nargs="+")
    arguments = parser.parse_args()
    specs = load_specs([OWN_DATA, *arguments.specs])
    passed, failed = 0, 0
    reasons: Counter[str] = Counter()
    for case in load_cases(arguments.files):
        found = CaseRunner(case, spec_of(case, specs)).differences()
        passed += not found
        failed += bool(found)
        if found and arguments.quiet:
            reasons[found[0][:60]] += 1
        for line in [] if arguments.quiet else found:
            say(f"{case.get('id', '?')}: {line}")
    for reason, count in reasons.most_common():
        say(f"{count:5} {reason}")
    say(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
