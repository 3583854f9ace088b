"""Processors of the user: their context, their punctuations, and wrappers around operators."""
