"""One budget for the bytes of all requests that a service has under way."""


class ByteBudget:
    """Bytes taken and given back; for one thread, such as that of an event loop.

    Parameters
    ----------
    most : int
        Bytes that may be taken at the same time.

    Attributes
    ----------
    taken : int
        Bytes taken now.

    Examples
    --------
    >>> from tallywise._byte_budget import ByteBudget
    >>> budget = ByteBudget(100)
    >>> budget.take(80), budget.take(30), budget.taken
    (True, False, 80)
    >>> budget.give_back(80)
    >>> budget.take(30)
    True
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken = most, 0

    def take(self, size: int) -> bool:
        """Take `size` bytes; False, and nothing is taken, where there are not so many left."""
        if self.taken + size > self.most:
            return False
        self.taken += size
        return True

    def give_back(self, size: int) -> None:
        """Give bytes back."""
        self.taken -= size
