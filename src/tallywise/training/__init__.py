"""From data to a model in one call: `train` fits what suits the data; `Trained` sums it up, reports and saves it."""

from tallywise._exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
