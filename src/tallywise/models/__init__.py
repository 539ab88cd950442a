"""What is saved and served. Needs NumPy alone, never scikit-learn or SciPy.

======================= ==========================================================================
`model_file`            the bytes of a model file: a JSON document and named arrays, checked
`compression`           weights in few bits, terms and scales coded
`loading`               `load`: from the kind of model that a file holds to the class that serves it
`text_serving`          `TextModel`: one label per text
`label_set_serving`     `MultiLabelTextModel`: any number of labels per text
`table_serving`         `TableRuntime`: a class, an ordinal label or a number per row of a table
`fasttext_serving`      `FastTextModel`: classifiers of fastText
======================= ==========================================================================
"""
