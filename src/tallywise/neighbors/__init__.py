"""Exact nearest neighbours, dense and sparse, with every k evaluated in one pass."""

from tallywise.neighbors._concentration import Concentration, distance_concentration, edge_length
from tallywise.neighbors._cv import KNeighborsClassifierCV, KNeighborsRegressorCV
from tallywise.neighbors._estimators import KNeighborsClassifier, KNeighborsRegressor
from tallywise.neighbors._unsupervised import NearestNeighbors

__all__ = [
    "Concentration",
    "KNeighborsClassifier",
    "KNeighborsClassifierCV",
    "KNeighborsRegressor",
    "KNeighborsRegressorCV",
    "NearestNeighbors",
    "distance_concentration",
    "edge_length",
]
