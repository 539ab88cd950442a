"""Models of other programs read, and ours written for them.

=================== ==========================================================================
`read_liblinear`    a model file of LIBLINEAR as a fitted estimator; `write_liblinear` back
`read_libsvm`       a model file of LIBSVM as a fitted estimator; `write_libsvm` back
`FastTextModel`     a classifier of fastText, which `tallywise.load` reads
`save_pipeline`     a scikit-learn pipeline of texts as a model file
`to_onnx`           a linear or text model as an ONNX graph
=================== ==========================================================================

Names are loaded when first used: the serve side reads foreign models without scikit-learn.
"""

from tallywise._exports import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
