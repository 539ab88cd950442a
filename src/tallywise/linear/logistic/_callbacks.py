"""The rounds of a logistic fit as scikit-learn's callbacks see them."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tallywise.linear.logistic._fit import LogisticFit


def tell_rounds(
    model: Any, context: Any, data: dict[str, Any], found: LogisticFit, after: Callable[[int], LogisticFit]
) -> LogisticFit:
    """Call the hooks of every round; returns the fit, or its state where a hook asked to stop.

    The native solve runs in one piece, so the hooks are called after it. The state after k rounds is a fit with k
    rounds, `after(k)`: made only for callbacks that ask for `fitted_estimator`.

    Parameters
    ----------
    model : LogisticRegression
        Whose callbacks are called.
    context : CallbackContext
        Of its fit.
    data : dict
        X, y and metadata for the hooks.
    found : LogisticFit
        The whole fit.
    after : callable
        The state after a number of rounds below that of `found`.
    """

    @cache
    def state(k: int) -> LogisticFit:
        return found if k >= found.iterations else after(k)

    def attributes(k: int) -> dict[str, Any]:
        return {"coef_": state(k).coef, "intercept_": state(k).intercept}

    rounds = min(max(found.iterations, 1), max(model.max_iter, 1))
    for k in range(rounds):
        own = context.subcontext(task_name=f"{model.solver}-iter")
        own.call_on_fit_task_begin(estimator=model, **data, reconstruction_attributes=partial(attributes, k))
        if own.call_on_fit_task_end(estimator=model, **data, reconstruction_attributes=partial(attributes, k + 1)):
            return state(k + 1)
    # scikit-learn's solver begins one more round than it does, and callbacks count on it.
    rest = context.subcontext(task_name=f"{model.solver}-iter")
    rest.call_on_fit_task_begin(estimator=model, **data, reconstruction_attributes=partial(attributes, rounds))
    rest.call_on_fit_task_end(estimator=model)
    return found
