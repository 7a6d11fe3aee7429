"""Rows in partitions: on the workers of a Dask cluster, or in Parquet files."""
