"""Interactive queries of an application on Spark: asked in the driver, answered by task hosts."""
