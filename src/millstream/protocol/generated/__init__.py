"""One module per API, written by `make codegen` from codegen/schemas. Import the module you need: all are lazy."""
