"""scikit-learn's own checks over every naive Bayes estimator, with no expected failure."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from tallywise.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, JointBayes, MultinomialNB


@parametrize_with_checks(
    [
        BernoulliNB(),
        MultinomialNB(),
        ComplementNB(),
        CategoricalNB(),
        GaussianNB(),
        GaussianNB(shared_variance=True),
        JointBayes(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
