"""`python -m codegen` rewrites the generated modules; `--check` only compares and exits 1 on a difference."""

from __future__ import annotations

import sys
from pathlib import Path

from codegen import errors

ROOT = Path(__file__).resolve().parent.parent


def outputs() -> dict[Path, str]:
    return {ROOT / "src/millstream/errors.py": errors.render()}


def main(arguments: list[str]) -> int:
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (run `make codegen`)")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(outputs()[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
