"""Models of tables: text, categories, numbers and dates in; classes, grades or numbers out.

Names are loaded when used: the serve side needs neither scikit-learn nor SciPy.
"""

from tallywise._exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
