"""Values kept by functions of `foreachBatch`, each changed exactly once by each micro-batch, as in Storm's Trident."""
