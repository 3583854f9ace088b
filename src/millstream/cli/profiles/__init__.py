"""`millstream profile`: named settings of a client, for `--profile NAME`."""
