"""Writes src/millstream/protocol/generated from the tables in codegen/schemas."""
