"""Logins at the listeners of a node: its settings, the cluster's credentials and the keys of token
issuers, for `security.login`.
"""
