"""The papers' experiments, one module per paper."""
