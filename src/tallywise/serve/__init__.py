"""`tally serve`: an HTTP service and a workbench in the browser, over one model and one text store."""
