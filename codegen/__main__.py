"""`python -m codegen` rewrites the generated modules; `--check` only compares and exits 1 on a difference."""

from __future__ import annotations

import sys
from pathlib import Path

from codegen import errors, foreign_names
from codegen.messages import outputs as messages

ROOT = Path(__file__).resolve().parent.parent


def outputs() -> dict[Path, str]:
    generated = ROOT / "src/millstream/protocol/generated"
    java = ROOT / "src/millstream/foreign_names/generated/kafka_streams.py"
    return {
        ROOT / "src/millstream/errors.py": errors.render(),
        java: foreign_names.render(),
        **messages.outputs(generated),
    }


def main(arguments: list[str]) -> int:
    texts = outputs()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in arguments:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)} (run `make codegen`)")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path])
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
