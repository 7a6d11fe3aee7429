"""Rows on a GPU: array libraries, tables, boosting, the multi-label pool and kernel matrices."""
