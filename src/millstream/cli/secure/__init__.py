"""The files that `--secure` makes and keeps: an authority, certificates of nodes, the login of the administrator."""
