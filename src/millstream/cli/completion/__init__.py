"""`millstream completion`: the Tab key of bash, zsh and fish knows verbs, options and the names of a cluster."""
