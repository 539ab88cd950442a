"""Linear support vector machines: classes and numbers, soft margins and hard ones."""

from tallywise.linear.svm._classification import LinearSVC
from tallywise.linear.svm._regression import LinearSVR

__all__ = ["LinearSVC", "LinearSVR"]
