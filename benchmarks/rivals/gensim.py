"""Problems solved with gensim."""

from typing import Any

import numpy as np

from benchmarks.rivals import Solvers

PACKAGE = "gensim"
SOLVERS = Solvers()


@SOLVERS.of("topics_kos")
def topics(data: Any, threads: int) -> Any:
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaMulticore

    from benchmarks.problems.topics import ALPHA, BETA

    documents = list(Sparse2Corpus(data.train.T.tocsc()))
    names = dict(enumerate(map(str, range(data.train.shape[1]))))
    priors = {"alpha": np.full(data.K, ALPHA), "eta": BETA}
    settings = {"num_topics": data.K, "id2word": names, "passes": 10, "workers": threads, "random_state": 1}
    return lambda: LdaMulticore(documents, chunksize=500, iterations=100, **priors, **settings).get_topics()
