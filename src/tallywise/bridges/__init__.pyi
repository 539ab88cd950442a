# Public names and their homes, which tallywise/_exports.py reads.
__all__: list[str]

from tallywise.bridges.onnx_graphs import to_onnx as to_onnx
from tallywise.bridges.liblinear import read_liblinear as read_liblinear, write_liblinear as write_liblinear
from tallywise.bridges.libsvm import read_libsvm as read_libsvm, write_libsvm as write_libsvm
from tallywise.bridges.pipelines import save_pipeline as save_pipeline
from tallywise.models.fasttext_serving import FastTextModel as FastTextModel
