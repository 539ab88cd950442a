"""Every problem, solved with tallywise."""

from benchmarks.rivals import Solvers

PACKAGE = "tallywise"
SOLVERS = Solvers()

# --- text ---


# --- naive bayes ---


# --- linear ---


# --- margins ---


# --- kernel ---


# --- neighbors ---


# --- topics ---


# --- classifier ---
