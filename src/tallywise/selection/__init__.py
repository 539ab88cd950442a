"""Model selection, in five sentences.

Two linear models with fixed settings, an SVM on words and characters (C = 1) and one on log-count ratios of words
(C = 0.1), score the same held-out folds: as many of five as the work limit allows, at least one. Their scores are added
with weights >= 0 that minimise held-out log loss; weight 0 leaves a model out. Each class gets an offset, drawn to 0
with the weight of five rows. Of softmax, sigmoids and, for at most ten classes, mixed scores, the one with the least
held-out log loss makes the probabilities. The models in the sum are refitted on all rows.

These are the sentences for texts. Whoever names other models hands other candidates to the same procedure (`select`).
"""

from tallywise.selection.combination import Combination, weighted_sum
from tallywise.selection.folds import draw_groups, fold_numbers, folds_within, held_rows, parts_of
from tallywise.selection.procedure import (
    COMPARED,
    PARTS,
    Candidate,
    HeldOutScores,
    Selection,
    Trial,
    score_held_out,
    select,
)
from tallywise.selection.work_limits import Deadline, TimeUpError, free_memory

__all__ = [
    "COMPARED",
    "PARTS",
    "Candidate",
    "Combination",
    "Deadline",
    "HeldOutScores",
    "Selection",
    "TimeUpError",
    "Trial",
    "draw_groups",
    "fold_numbers",
    "folds_within",
    "free_memory",
    "held_rows",
    "parts_of",
    "score_held_out",
    "select",
    "weighted_sum",
]
