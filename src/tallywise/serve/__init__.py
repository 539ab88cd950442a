"""`tally serve`: an HTTP service and a workbench in the browser, over one model and one text store.

Needs ``pip install 'tallywise[serve]'``. From the outside in: `server`, `connection` and `exchange` (HTTP with its
bounds), `application` (what every request passes), `access` (who may do what), `service` and `classify` (text models),
`batching` (texts of many requests in one call), `api` and `schemas` (JSON), `pages` (the workbench), `table_service`
and `table_page` (a model of a table). Below: `store` (SQLite, one writer), `store_writes` and `queries` (all that is
written and asked), `importing` (files into the store), `file_jobs` (files to be classified), `claims` (who has which
text before them), `near_repeats`, `model_versions`, `training` and `fit_process` (fits, in a process of their own).
"""

from tallywise.serve.run import run, store_folder
from tallywise.serve.service import Service
from tallywise.serve.settings import Settings
from tallywise.serve.text_store import Store

__all__ = ["Service", "Settings", "Store", "run", "store_folder"]
