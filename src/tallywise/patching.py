"""The swap without touching imports: tallywise's classes under scikit-learn's names."""

import importlib
import threading
from collections.abc import Iterable
from types import ModuleType, TracebackType
from typing import Any

import tallywise

# Where scikit-learn's users import from. Its private modules stay as they are: its own classes inherit from each other
# there.
_HOMES = (
    "sklearn.decomposition",
    "sklearn.feature_extraction.text",
    "sklearn.kernel_approximation",
    "sklearn.kernel_ridge",
    "sklearn.linear_model",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.svm",
)
_originals: dict[tuple[ModuleType, str], type] = {}  # what stands aside for ours
_lock = threading.Lock()


class Patch:
    """What one call of `patch_sklearn` has replaced; as a context manager it puts that back at the end.

    Attributes
    ----------
    names : list of str
        Classes that this call has replaced: without those that were replaced already.
    """

    def __init__(self, places: list[tuple[ModuleType, str]]) -> None:
        self._places = places
        self.names = sorted({name for _, name in places})

    def __repr__(self) -> str:
        return f"Patch(names={self.names!r})"

    def __enter__(self) -> "Patch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _lock:
            _restore(self._places)


def patch_sklearn(names: str | Iterable[str] | None = None) -> Patch:
    """Let scikit-learn's modules hand out tallywise's classes of the same names.

    Code that imports from scikit-learn afterwards, or that writes ``svm.SVC`` with ``from sklearn import svm``, gets
    ours; names imported before, and models made before, stay scikit-learn's.

    Parameters
    ----------
    names : str or iterable of str, default=None
        Classes to replace; all that tallywise has by default.

    Returns
    -------
    Patch
        As a context manager, ends the swap with its block.

    See Also
    --------
    unpatch_sklearn : Puts scikit-learn's classes back.

    Examples
    --------
    >>> import tallywise
    >>> with tallywise.patch_sklearn("SVC") as patch:
    ...     from sklearn.svm import SVC, LinearSVC
    >>> patch.names, SVC is tallywise.SVC, LinearSVC is tallywise.LinearSVC
    (['SVC'], True, False)
    """
    with _lock:
        places = [place for place in _places(names, "patch_sklearn") if place not in _originals]
        for module, name in places:
            _originals[module, name] = getattr(module, name)
            setattr(module, name, getattr(tallywise, name))
    return Patch(places)


def unpatch_sklearn(names: str | Iterable[str] | None = None) -> None:
    """Put scikit-learn's classes back.

    Parameters
    ----------
    names : str or iterable of str, default=None
        Classes to put back; all that are replaced by default.

    Examples
    --------
    >>> import tallywise
    >>> patch = tallywise.patch_sklearn()
    >>> tallywise.unpatch_sklearn()
    >>> from sklearn.linear_model import Ridge
    >>> Ridge is tallywise.Ridge
    False
    """
    with _lock:
        _restore(_places(names, "unpatch_sklearn"))


def _restore(places: list[tuple[ModuleType, str]]) -> None:
    for module, name in places:
        own = _originals.pop((module, name), None)
        if own is not None and getattr(module, name, None) is getattr(tallywise, name):  # else another patch came after
            setattr(module, name, own)


def _places(names: str | Iterable[str] | None, function: str) -> list[tuple[ModuleType, str]]:
    """(module, name) of each class that scikit-learn and tallywise have in common, or of those named."""
    known: dict[str, list[ModuleType]] = {}
    for module in map(importlib.import_module, _HOMES):
        for name in tallywise.__all__:
            theirs: Any = vars(module).get(name)
            if isinstance(theirs, type):
                known.setdefault(name, []).append(module)
    wanted = list(known) if names is None else [names] if isinstance(names, str) else list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        msg = f"{function} takes names of classes that scikit-learn and tallywise both have. Got {unknown}; choose of "
        raise ValueError(msg + f"{sorted(known)}.")
    return [(module, name) for name in wanted for module in known[name]]
