"""The workbench: pages made here, so that they can be read without a script; the script makes them quick."""

from fastapi import FastAPI

from tallywise.serve.pages.data import DataPage
from tallywise.serve.pages.entrance import Entrance
from tallywise.serve.pages.file import FilePage
from tallywise.serve.pages.history import HistoryPage
from tallywise.serve.pages.label import LabelPage
from tallywise.serve.pages.model import ModelPage
from tallywise.serve.pages.topics import TopicsPage
from tallywise.serve.pages.trying import TryPage
from tallywise.serve.pages.workbench import Workbench
from tallywise.serve.service import Service


def add_pages(app: FastAPI, service: Service) -> None:
    """Give an application the workbench."""
    bench = Workbench(service)
    for kind in (Entrance, TryPage, LabelPage, HistoryPage, ModelPage, TopicsPage, DataPage, FilePage):
        for method, path, handler in kind(bench).routes():
            app.add_route(path, bench.guarded(handler), methods=[method], include_in_schema=False)
