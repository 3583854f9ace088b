"""Compares a column with the schema by which it is to be written, type with type, when the query starts. Pure."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as spark

from millstream.errors import ConfigError

_WIDER: Final[dict[type[spark.DataType], tuple[type[spark.DataType], ...]]] = {
    spark.ByteType: (spark.ShortType, spark.IntegerType, spark.LongType),
    spark.ShortType: (spark.IntegerType, spark.LongType),
    spark.IntegerType: (spark.LongType,),
}
_TEXTS: Final = (spark.StringType, spark.CharType, spark.VarcharType)


def require_fit(name: str, kind: spark.DataType, schema: spark.DataType) -> None:
    """Raises ConfigError for a column that has what its schema has not, or has it with another type."""
    misfit = _misfit(kind, schema)
    if misfit is not None:
        raise ConfigError(f"column {name} does not fit {name}.schema: {misfit}")


def _misfit(kind: spark.DataType, schema: spark.DataType) -> str | None:
    """Returns what is wrong, with the names of the members that lead to it; None where nothing is."""
    if isinstance(kind, spark.StructType) and isinstance(schema, spark.StructType):
        return _misfit_of_struct(kind, schema)
    if isinstance(kind, spark.ArrayType) and isinstance(schema, spark.ArrayType):
        return _misfit(kind.elementType, schema.elementType)
    if isinstance(kind, spark.MapType) and isinstance(schema, spark.MapType):
        return _misfit(kind.keyType, schema.keyType) or _misfit(kind.valueType, schema.valueType)
    if isinstance(kind, spark.DecimalType) and isinstance(schema, spark.DecimalType):
        has_digits = schema.precision - schema.scale >= kind.precision - kind.scale
        is_fit = has_digits and schema.scale >= kind.scale
    else:
        are_texts = isinstance(kind, _TEXTS) and isinstance(schema, _TEXTS)
        is_fit = are_texts or type(schema) in (type(kind), *_WIDER.get(type(kind), ()))
    return None if is_fit else f"{kind.simpleString()} is not {schema.simpleString()}, cast it"


def _misfit_of_struct(kind: spark.StructType, schema: spark.StructType) -> str | None:
    types = {field.name: field.dataType for field in schema.fields}
    for field in kind.fields:
        if field.name not in types:
            return f"the schema has no {field.name}, it has {', '.join(types) or 'no members'}"
        misfit = _misfit(field.dataType, types[field.name])
        if misfit is not None:
            return f"{field.name}: {misfit}"
    return None
