"""Beyond one machine: the same models from shards of text, in pieces, on threads or on a Ray cluster.

Names are loaded when used: workers that only score need neither scikit-learn nor SciPy, and start in a fraction of a
second.
"""

from tallywise._exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
