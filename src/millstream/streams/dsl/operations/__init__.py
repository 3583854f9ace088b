"""The operators of the DSL as functions: streams and tables of the graph in, nodes added, streams and tables out."""
