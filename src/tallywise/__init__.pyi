# Public names and their homes, which tallywise/_exports.py reads; written by python -m tools.exports.
__version__: str
__all__: list[str]

from tallywise.errors import ConcentrationWarning as ConcentrationWarning, DivergenceError as DivergenceError, ModelFileError as ModelFileError, NoPossibleClassError as NoPossibleClassError, NotLearnedError as NotLearnedError, NotSeparableError as NotSeparableError, OverwriteError as OverwriteError, SeparationError as SeparationError, SeparationWarning as SeparationWarning, TallywiseError as TallywiseError, UnreadCellsWarning as UnreadCellsWarning
from tallywise.evaluation import compare as compare
from tallywise.kernels import KernelLeastMeanSquares as KernelLeastMeanSquares, KernelPerceptron as KernelPerceptron, KernelRidge as KernelRidge, Nystroem as Nystroem, RandomFourierFeatures as RandomFourierFeatures, SVC as SVC, SVR as SVR
from tallywise.linear import ElasticNet as ElasticNet, ElasticNetCV as ElasticNetCV, Lasso as Lasso, LassoCV as LassoCV, LeastMeanSquares as LeastMeanSquares, LinearRegression as LinearRegression, LinearSVC as LinearSVC, LinearSVR as LinearSVR, LogisticPath as LogisticPath, LogisticRegression as LogisticRegression, LogisticRegressionCV as LogisticRegressionCV, MinimaxConcaveRegression as MinimaxConcaveRegression, OrdinalRegression as OrdinalRegression, Perceptron as Perceptron, Ridge as Ridge, RidgeCV as RidgeCV, enet_path as enet_path, lasso_path as lasso_path
from tallywise.models.label_set_serving import MultiLabelTextModel as MultiLabelTextModel
from tallywise.models.loading import load as load
from tallywise.models.table_serving import TableRuntime as TableRuntime
from tallywise.models.text_serving import TextModel as TextModel
from tallywise.naive_bayes import BernoulliNB as BernoulliNB, CategoricalNB as CategoricalNB, ComplementNB as ComplementNB, GaussianNB as GaussianNB, JointBayes as JointBayes, LeaveOneOutScores as LeaveOneOutScores, LinearRule as LinearRule, MultinomialNB as MultinomialNB, PoissonNB as PoissonNB
from tallywise.neighbors import Concentration as Concentration, KNeighborsClassifier as KNeighborsClassifier, KNeighborsClassifierCV as KNeighborsClassifierCV, KNeighborsRegressor as KNeighborsRegressor, KNeighborsRegressorCV as KNeighborsRegressorCV, NearestNeighbors as NearestNeighbors, distance_concentration as distance_concentration, edge_length as edge_length
from tallywise.patching import patch_sklearn as patch_sklearn, unpatch_sklearn as unpatch_sklearn
from tallywise.reading import open_data as open_data
from tallywise.table_model import TableModel as TableModel
from tallywise.text import Binner as Binner, CountVectorizer as CountVectorizer, HashingVectorizer as HashingVectorizer, TfidfTransformer as TfidfTransformer, TfidfVectorizer as TfidfVectorizer
from tallywise.text_model import MultiLabelTextClassifier as MultiLabelTextClassifier, TextClassifier as TextClassifier
from tallywise.topics import Beta as Beta, Dirichlet as Dirichlet, HeldOut as HeldOut, LatentDirichletAllocation as LatentDirichletAllocation, TopicChoice as TopicChoice, choose_topics as choose_topics
from tallywise.training import Trained as Trained, train as train
