"""Any scikit-learn classifier as a base model: checks, seeds, weights, values, cross-fitting, BLAS threads."""
