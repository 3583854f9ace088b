"""Types as Spark's DDL writes them, read without a JVM: the process in which a sink checks its options has none.

Pure. What is not read here has no encoder either: intervals, variants, geometries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
_DECIMAL: Final = (10, 0)
"""Spark's precision and scale of a decimal that says neither."""


def type_of_text(option: str, text: str) -> spark.DataType:
    """Returns the type that one DDL text names. Raises ConfigError for text that is none, and for types that no format has."""
    reader = _Reader(option, text)
    found = reader.one_type()
    reader.require_end()
    return found


class _Reader:
    """Reads the tokens of one text from left to right."""

    def __init__(self, option: str, text: str) -> None:
        self._option = option
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
            numbers = self._numbers() or list(_DECIMAL)
            return spark.DecimalType(numbers[0], numbers[1] if len(numbers) > 1 else 0)
        if name in _TEXTS:
            self._numbers()
            return spark.StringType()
        if name not in _NAMES:
            raise self._error(f"{name!r} is no type of a column that is written")
        return _NAMES[name]()

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
            raise self._error(f"{found!r} is no name" if found else "the text ends too early")
        return found

    def _require(self, sign: str) -> None:
        found = self._next()
        if found != sign:
            raise self._error(f"{found or 'the end'!r} stands where {sign!r} should")

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
        return ConfigError(f"{self._option} is no schema of Spark: {what} in {self._text!r}")
