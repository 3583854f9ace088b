"""The command line: one module per verb, listed in `millstream.cli.main`."""
