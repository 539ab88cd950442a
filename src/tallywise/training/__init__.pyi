from tallywise.training.trained import Trained as Trained, metrics_as_lists as metrics_as_lists
from tallywise.training.dispatch import TEXT_ONLY as TEXT_ONLY, train as train
from tallywise.training.label_set_training import label_documents as label_documents, label_rows as label_rows
from tallywise.training.text_training import trial_table as trial_table
