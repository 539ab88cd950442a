"""Topics: the Dirichlet distribution and latent Dirichlet allocation."""

from tallywise.topics._dirichlet import Beta, Dirichlet
from tallywise.topics._lda import LatentDirichletAllocation
from tallywise.topics._number_of_topics import TopicChoice, choose_topics
from tallywise.topics._perplexity import HeldOut

__all__ = ["Beta", "Dirichlet", "HeldOut", "LatentDirichletAllocation", "TopicChoice", "choose_topics"]
