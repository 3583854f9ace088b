"""Every file written from the tables, as path and text."""

from __future__ import annotations

from pathlib import Path

from codegen.messages.api_table import render_api_table
from codegen.messages.modules import render_module
from millstream.protocol.schema import parse_schemas

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"


def outputs(generated: Path) -> dict[Path, str]:
    """The modules of protocol/generated, whose directory is `generated`."""
    tables = {table.stem: table.read_text() for table in sorted(SCHEMAS.glob("*.txt"))}
    modules = {
        generated / f"{name}.py": render_module(name, table) for name, table in tables.items()
    }
    parsed = {name: parse_schemas(table) for name, table in tables.items()}
    return {**modules, generated / "api_keys.py": render_api_table(parsed)}
