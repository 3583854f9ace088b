"""The types of keys and values that clients are generic in; bytes where nobody says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults (PEP 696), which typing has from 3.13

    Key = TypeVar("Key", default=bytes)
    Value = TypeVar("Value", default=bytes)
else:
    from typing import TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")
