"""`python -m codegen.docs` rewrites the pages of docs/ that are made from the code.

Most pages are wholly generated; those of the Streams guide are written by hand, and what their examples print is put in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from codegen import broker_configs, client_configs, compatibility, guide_pages, states
from millstream.cli.demo.topology import flights_topology

ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[Path, Callable[[], str]]:
    """What makes each page, by its path."""
    docs = ROOT / "docs"
    generated: dict[Path, Callable[[], str]] = {
        docs / "compatibility.md": compatibility.render,
        docs / "reference/broker-configs.md": broker_configs.render,
        docs / "reference/client-configs.md": client_configs.render,
        docs / "reference/states.md": states.render,
        docs / "guide/streams/flights.svg": lambda: flights_topology().to_svg(),
    }
    guide = [docs / "guide/streams.md", *sorted((docs / "guide/streams").glob("*.md"))]
    return generated | {page: _guide_page(page) for page in guide}


def _guide_page(page: Path) -> Callable[[], str]:
    return lambda: guide_pages.render(page.read_text(), page.relative_to(ROOT))


def main() -> int:
    for path, render in pages().items():
        text = render()
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
