from tallywise.training.trained import Trained as Trained, metrics_as_lists as metrics_as_lists
from tallywise.training.dispatch import TEXT_ONLY as TEXT_ONLY, train as train
from tallywise.training.trained_label_sets import label_documents as label_documents, label_rows as label_rows
from tallywise.training.trained_texts import trial_table as trial_table
