"""The transaction coordinator: who may write in which transaction, and how each one ends.

Pure; `broker` gives it a log.
"""
