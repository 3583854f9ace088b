"""The web console: pages about a cluster, read through the admin client.

The only package that imports a web framework.
"""
