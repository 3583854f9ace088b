"""What `make codegen` writes from docs/reference/java-to-python.md."""
