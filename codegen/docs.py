"""`python -m codegen.docs` rewrites the pages of docs/ that are made from the code."""

from __future__ import annotations

from pathlib import Path

from codegen import compatibility

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    for path, text in {ROOT / "docs/compatibility.md": compatibility.render()}.items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
