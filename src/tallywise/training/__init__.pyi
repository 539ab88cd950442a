from tallywise.training.result import Trained as Trained, figures_of as figures_of
from tallywise.training.run import TEXT_ONLY as TEXT_ONLY, train as train
from tallywise.training.label_sets import label_documents as label_documents, label_rows as label_rows
from tallywise.training.texts import trial_table as trial_table
