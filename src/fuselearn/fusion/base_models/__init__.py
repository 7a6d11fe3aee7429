"""The base models of FusionClassifier."""
