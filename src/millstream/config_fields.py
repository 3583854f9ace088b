"""Config classes: frozen dataclasses whose fields say which settings they come from, and the one
function that fills them.

Every part of a node declares the settings it works with in such a class, beside its own code. `read_config`
makes an object of it from values that were parsed and checked by the table of settings; nothing else looks a
setting up by its key (ADR 0012).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    ConfigT = TypeVar("ConfigT", bound=DataclassInstance)

T = TypeVar("T")
_SOURCE = "source"


class Source(NamedTuple):
    """The keys that a field comes from, and what makes one value of theirs where it is not the
    value of the only key.
    """

    keys: tuple[str, ...]
    convert: Callable[..., object] | None = None

    def value(self, values: Mapping[str, object]) -> object:
        found = [values[key] for key in self.keys]
        return found[0] if self.convert is None else self.convert(*found)


FieldSource: TypeAlias = "str | Source | type[DataclassInstance]"
"""A key, what `from_keys` says, or a config class."""


def from_keys(
    *keys: str, default: T, convert: Callable[..., T] | None = None, secret: bool = False
) -> T:
    """Declares a field with the value of a key that is not its name, or with what `convert`
    makes of the values of `keys`.

    `default` is what the defaults of these keys give, which a test holds. A secret stays out of the text of the object.
    """
    assert convert is not None or len(keys) == 1, "several keys need a conversion to one value"
    metadata = {_SOURCE: Source(keys, convert)}
    if isinstance(default, Mapping):  # dataclasses refuse what has no hash as a default
        return dataclasses.field(
            default_factory=lambda: default, repr=not secret, metadata=metadata
        )
    return dataclasses.field(default=default, repr=not secret, metadata=metadata)


def read_config(config: type[ConfigT], values: Mapping[str, object], /, **given: object) -> ConfigT:
    """Makes a config of `values`, which hold every setting under its key.

    A field has what is `given` for it; else what `from_keys` names; else the value of the key that is its
    name with dots. A field whose default is made by another config class is filled like that class. A field
    without any of these keeps its default.
    """
    found: dict[str, Any] = dict(given)  # Any: a test holds the types of values and fields equal
    for name, source in sources(config):
        if name in given:
            continue
        if isinstance(source, str):
            if source in values:
                found[name] = values[source]
        elif isinstance(source, Source):
            found[name] = source.value(values)
        else:
            found[name] = read_config(source, values)
    return config(**found)


@cache
def sources(config: type[DataclassInstance]) -> Sequence[tuple[str, FieldSource]]:
    """Returns where each field comes from: what `from_keys` says, the config class of its default,
    or the key that its name would be.
    """
    return tuple((each.name, _source(each)) for each in dataclasses.fields(config))


def _source(declared: dataclasses.Field[object]) -> FieldSource:
    factory: object = declared.default_factory
    if _SOURCE in declared.metadata:
        return cast("Source", declared.metadata[_SOURCE])
    if isinstance(factory, type) and dataclasses.is_dataclass(factory):
        return factory
    return declared.name.replace("_", ".")
