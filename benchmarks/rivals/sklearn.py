"""Every problem, solved with scikit-learn."""

from benchmarks.rivals import Solvers

PACKAGE = "scikit-learn"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
