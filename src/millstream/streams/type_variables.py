"""The types of keys and values where no serde may say what they are: then the application's
default serdes decide, so Any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # with defaults (PEP 696), which typing has from 3.13

    K = TypeVar("K", default=Any)  # Any: the default serdes
    V = TypeVar("V", default=Any)  # Any: the default serdes
    VO = TypeVar("VO", default=Any)  # Any: the default serdes
else:
    from typing import TypeVar

    K = TypeVar("K")
    V = TypeVar("V")
    VO = TypeVar("VO")
