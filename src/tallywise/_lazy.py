"""Attributes made when first read."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 (a decorator)
    """`functools.cached_property` without its lock.

    In Python 3.11 it is one lock for all instances, and a child that was forked while it was held waits for ever.

    Two threads may both make the value; the one that is stored last stays.

    Examples
    --------
    >>> from tallywise._lazy import lazy
    >>> class Sum:
    ...     @lazy
    ...     def value(self):
    ...         return 1 + 1
    >>> Sum().value
    2
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value
