"""Record batches, version 2: headers, records, codecs, control records, and the way to and from Arrow.

Import from the modules: `batch`, `record`, `builder`, `control`, `compression`, `arrow`.
"""
