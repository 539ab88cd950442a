"""Try: paste a text, see the verdict and its reasons."""

import json
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries, store_writes
from tallywise.serve.pages.explained import explanation
from tallywise.serve.pages.workbench import Page, Route


class TryPage(Page):
    """A text and all that the model makes of it."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/try", self.show_try),
            ("POST", "/try", self.answer_try),
        ]

    async def show_try(self, request: Request) -> Response:
        """An empty Try page."""
        return await self.bench.page(request, "try", text="", found=None, classes=await self.bench.classes())

    async def answer_try(self, request: Request) -> Response:
        """Verdict, reasons, and what would change it."""
        service = self.service
        who, fields = await self.bench.form(request)
        text = str(fields.get("text", ""))
        found: dict[str, Any] | None = None
        if text.strip():
            live = service.models.current()
            found = await service.work_long(explanation, live, text)
            found["unlike"] = bool((await service.work(live.model.out_of_depth, [text]))[0])
            facts = (await service.work(service.models.get, live.number)).facts
            found["near"] = await service.read(lambda db: queries.nearest_labelled(db, text))
            found["sweep"] = json.dumps(facts.get("sweep") or [])
            found["positive"] = facts.get("positive", 1)
            found["threshold"] = facts.get("threshold", 0.5)
            if who.may_change:
                verdict = found["verdict"]
                row = (text, verdict.label, verdict.probability, verdict.margin)
                numbers = await service.write(lambda db: store_writes.record(db, [row], live.version, "page"))
                found["item"] = await service.read(lambda db: queries.item(db, numbers[0]))
        return await self.bench.page(request, "try", text=text, found=found, classes=await self.bench.classes())
