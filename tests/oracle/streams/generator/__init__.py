"""Random topologies and inputs in the oracle's language; a seed always gives the same case."""

from streams.generator.inputs import random_inputs
from streams.generator.mutations import mutated
from streams.generator.specs import random_spec, random_tables

__all__ = ["mutated", "random_inputs", "random_spec", "random_tables"]
