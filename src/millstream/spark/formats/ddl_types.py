"""Types as Spark's DDL writes them, read without a JVM: the process in which a sink checks its options has none.

Pure. What is not read here has no encoder either: intervals, variants, geometries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

from pyspark.sql import types as spark

from millstream.errors import ConfigError

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<quoted>`(?:[^`]|``)*`)|(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<word>\w+)|(?P<sign>[<>(),:]))"""
)
_NAMES: Final[Mapping[str, Callable[[], spark.DataType]]] = {
    "boolean": spark.BooleanType,
    "tinyint": spark.ByteType, "byte": spark.ByteType,
    "smallint": spark.ShortType, "short": spark.ShortType,
    "int": spark.IntegerType, "integer": spark.IntegerType,
    "bigint": spark.LongType, "long": spark.LongType,
    "float": spark.FloatType, "real": spark.FloatType, "double": spark.DoubleType,
    "void": spark.NullType, "string": spark.StringType, "binary": spark.BinaryType, "date": spark.DateType,
    "timestamp": spark.TimestampType, "timestamp_ltz": spark.TimestampType, "timestamp_ntz": spark.TimestampNTZType,
}  # fmt: skip
_DECIMALS: Final = {"decimal", "dec", "numeric"}
_TEXTS: Final = {"char", "character", "varchar"}
_NESTED: Final = ("struct", "array", "map")
_DIGITS_MAX: Final = 38
"""DecimalType.MAX_PRECISION of Spark."""
_SIMILAR: Final = 0.75
"""Names that are less alike are another type: `variant` means no int."""
_DECIMAL: Final = (10, 0)
"""Spark's precision and scale of a decimal that says neither."""


def type_of_text(option: str, text: str, *, written: str | None = None) -> spark.DataType:
    """Returns the type that one DDL text names.

    Raises ConfigError for text that is none, and for types that no format has.

    `written`: what errors show in place of the text, if it was made of that.
    """
    reader = _Reader(option, text, text if written is None else written)
    found = reader.one_type()
    reader.require_end()
    return found


class _Reader:
    """Reads the tokens of one text from left to right."""

    def __init__(self, option: str, text: str, written: str) -> None:
        self._option = option
        self._written = written
        self._text = text
        self._at = 0

    def one_type(self) -> spark.DataType:
        name = self._word().lower()
        if name == "struct":
            return self._in_angles(self._struct)
        if name == "array":
            return self._in_angles(lambda: spark.ArrayType(self.one_type()))
        if name == "map":
            return self._in_angles(self._map)
        if name in _DECIMALS:
            return self._decimal(self._numbers() or list(_DECIMAL))
        if name in _TEXTS:
            self._numbers()
            return spark.StringType()
        if name not in _NAMES:
            near = get_close_matches(name, (*_NAMES, *_NESTED, *_DECIMALS, *_TEXTS), 1, _SIMILAR)
            hint = f", did you mean {near[0]}?" if near else ""
            raise self._error(f"{name!r} is no type that is read or written{hint}")
        if name == "string" and self._peek().lower() == "collate":
            self._next()
            self._next()
        return _NAMES[name]()

    def _decimal(self, numbers: list[int]) -> spark.DecimalType:
        precision, scale = numbers[0], numbers[1] if len(numbers) > 1 else 0
        if not (1 <= precision <= _DIGITS_MAX and scale <= precision):
            raise self._error(
                f"decimal({precision},{scale}) has no values: a decimal has 1 to {_DIGITS_MAX} digits, of which its scale says how many follow the point"
            )
        return spark.DecimalType(precision, scale)

    def require_end(self) -> None:
        if self._text[self._at :].strip():
            raise self._error(f"{self._text[self._at :].strip()!r} follows the type")

    def _in_angles(self, inner: Callable[[], spark.DataType]) -> spark.DataType:
        self._require("<")
        found = inner()
        self._require(">")
        return found

    def _map(self) -> spark.MapType:
        key = self.one_type()
        self._require(",")
        return spark.MapType(key, self.one_type())

    def _struct(self) -> spark.StructType:
        fields = list[spark.StructField]()
        while self._peek() != ">":
            if not self._peek() and fields:
                raise self._error("a '>' is missing at its end")
            if fields:
                self._require(",")
            name = self._word()
            if self._peek() == ":":
                self._next()
            fields.append(spark.StructField(name, self.one_type()))
            if self._peek().lower() == "comment":
                self._next()
                self._next()
        return spark.StructType(fields)

    def _numbers(self) -> list[int]:
        found = list[int]()
        if self._peek() != "(":
            return found
        self._next()
        while True:
            word = self._word()
            if not word.isdecimal():
                raise self._error(f"{word!r} is no number")
            found.append(int(word))
            if self._next() == ")":
                return found

    def _word(self) -> str:
        found = self._next()
        if found.startswith("`"):
            return found[1:-1].replace("``", "`")
        if not re.fullmatch(r"\w+", found):
            raise self._error(
                "it ends too early" if self._is_end(found) else f"{found!r} is no name"
            )
        return found

    def _require(self, sign: str) -> None:
        found = self._next()
        if found != sign:
            shown = "the end" if self._is_end(found) else repr(found)
            raise self._error(f"{shown} stands where {sign!r} should")

    def _is_end(self, found: str) -> bool:
        """Whether a token lies behind what was written: the one that closes a struct of its fields is not in it."""
        return not found or (self._at == len(self._text) and self._text != self._written)

    def _peek(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return "" if found is None else found[0].strip()

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[0].strip()

    def _error(self, what: str) -> ConfigError:
        return ConfigError(f"{self._option} {self._written!r} is no schema of Spark: {what}")
