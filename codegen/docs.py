"""`python -m codegen.docs` rewrites the pages of docs/ that are made from the code."""

from __future__ import annotations

from pathlib import Path

from codegen import broker_configs, client_configs, compatibility, file_map

ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[Path, str]:
    return {
        ROOT / "docs/compatibility.md": compatibility.render(),
        ROOT / "docs/reference/broker-configs.md": broker_configs.render(),
        ROOT / "docs/reference/client-configs.md": client_configs.render(),
        ROOT / "docs/file-map.md": file_map.render(ROOT / "src/millstream"),
    }


def main() -> int:
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
