"""Text that may have a number beyond 64 bits is found wherever the number stands in it."""

from __future__ import annotations

import contextlib
import importlib
from types import ModuleType

import pytest


def twins() -> list[ModuleType]:
    modules = [importlib.import_module("millstream.clients.serdes.long_numbers")]
    with contextlib.suppress(ModuleNotFoundError):
        modules.append(importlib.import_module("millstream.clients.serdes.long_numbers_compiled"))
    return modules


@pytest.mark.parametrize("module", twins(), ids=lambda module: module.__name__.rpartition(".")[2])
class TestLongNumbers:
    @pytest.mark.parametrize("before", range(40))
    @pytest.mark.parametrize("behind", [0, 1, 18, 19])
    def test_nineteen_digits_in_a_row_are_found_and_eighteen_are_not(
        self, module: ModuleType, before: int, behind: int
    ) -> None:
        around = (b"[" * before, b"]" * behind)
        assert module.has_long_number(around[0] + b"9223372036854775807" + around[1])
        assert module.has_long_number(around[0] + b"-12345678901234567890123" + around[1])
        assert not module.has_long_number(around[0] + b"123456789012345678" + around[1])

    def test_digits_that_something_parts_are_no_row(self, module: ModuleType) -> None:
        assert not module.has_long_number(b"123456789.123456789 1700000000000,1234567890e12 /:")
        assert not module.has_long_number(b"")
