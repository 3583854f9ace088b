"""The command line: one module or folder per verb, listed in `millstream.cli.main`."""
