# Public names and their homes, which tallywise/_exports.py reads.
__all__: list[str]

from tallywise.scale.jobs import Progress as Progress
from tallywise.scale.number_training import Regression as Regression, regress as regress
from tallywise.scale.report import report_data as report_data
from tallywise.scale.scoring import Scoring as Scoring, classify as classify
from tallywise.scale.shard_topics import Topics as Topics, find_topics as find_topics
from tallywise.scale.result import Training as Training
from tallywise.scale.text_training import train as train
