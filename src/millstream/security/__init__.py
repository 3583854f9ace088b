"""Access control, authentication, delegation tokens and quotas. See README.md."""
