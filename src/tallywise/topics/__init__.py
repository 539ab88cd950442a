"""Topics: the Dirichlet distribution and latent Dirichlet allocation."""

from tallywise.topics._choose import TopicChoice, choose_topics
from tallywise.topics._dirichlet import Beta, Dirichlet
from tallywise.topics._held_out import HeldOut
from tallywise.topics._lda import LatentDirichletAllocation

__all__ = ["Beta", "Dirichlet", "HeldOut", "LatentDirichletAllocation", "TopicChoice", "choose_topics"]
