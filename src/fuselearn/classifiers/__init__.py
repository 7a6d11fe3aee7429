"""Any scikit-learn classifier as a base model."""
