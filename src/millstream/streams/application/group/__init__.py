"""Membership in the group of an application: the broker shares out the tasks (KIP-1071, `group.protocol=streams`)."""
