"""`millstream cluster`: starts the nodes of a cluster on this machine, and tells about clusters."""
