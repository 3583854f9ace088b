"""Operators on changes of tables: stored, filtered, mapped, held back."""
