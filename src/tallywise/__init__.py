"""Classical machine learning for text: fast, explainable, with certificates and intervals.

Names are loaded when first used, so that ``import tallywise`` and the ``tally`` command load only what they
need. ``__init__.pyi`` lists them.
"""

from tallywise._exports import attach

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = attach(__name__, __file__)
