"""`tally serve`: an HTTP service and a workbench in the browser, over one model and one text store.

Needs ``pip install 'tallywise[serve]'``. The parts: `store` (SQLite, one writer), `changes` and `queries` (what is
written and asked), `models` (versions and the one in place), `training` and `learner` (fits, in their own process),
`service` and `classify` (the hot path), `guard` (who may do what), `api` (JSON) and `pages` (the workbench); `tables`
and `table_page` serve a model of a table, without a store.
"""

from tallywise.serve.run import run, store_folder
from tallywise.serve.service import Service
from tallywise.serve.settings import Settings
from tallywise.serve.store import Store

__all__ = ["Service", "Settings", "Store", "run", "store_folder"]
