"""scikit-learn's own test files, run with our classes in place of its own."""
