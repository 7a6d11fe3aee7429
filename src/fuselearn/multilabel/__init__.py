"""Many labels served by few base models."""
