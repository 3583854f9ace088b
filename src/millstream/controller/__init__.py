"""The controller: decides what changes in the cluster's metadata, as records. See README.md."""
