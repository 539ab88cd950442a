"""Model: figures, versions, and what changed between two of them."""

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.workbench import Page, Route, number_of


class ModelPage(Page):
    """The model in place and those before it."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/model", self.show_model),
            ("POST", "/model", self.take_model),
            ("GET", "/model/compare", self.show_compare),
        ]

    async def show_model(self, request: Request) -> Response:
        """Figures, confusion, terms, versions."""
        service = self.service
        versions = await service.read(queries.versions)
        live = service.models.live
        asked = number_of(request.query_params.get("version"), 0) or (live.number if live else 0)
        chosen = await service.read(lambda db: queries.version(db, asked))
        pinned = await service.work(lambda: service.models.pinned)
        context: dict[str, Any] = {
            "versions": versions,
            "chosen": chosen,
            "facts": chosen.facts if chosen else {},
            "pinned": pinned,
        }
        context |= {
            "why_not": await service.work(service.trainer.willing),
            "behind": await service.work(service.trainer.behind),
        }
        return await self.bench.page(request, "model", **context)

    async def take_model(self, request: Request) -> Response:
        """Activate, roll back or fit."""
        service = self.service
        _, fields = await self.bench.form(request)
        act, _, number = str(fields.get("act", "")).partition(":")
        if act == "activate":
            latest = (await service.read(queries.versions))[0].version
            live = await service.work(service.models.activate, number_of(number), number_of(number) != latest)
            note = f"version {live.version} is active"
        elif act == "rollback":
            live = await service.work(service.models.roll_back)
            note = f"back to version {live.version}"
        elif act == "fit":
            if len(await service.read(queries.label_counts)) < 2:
                raise ServiceError(409, "Labels of two classes are needed to learn a difference.")
            service.trainer.ask()
            note = "a fit is under way"
        else:
            raise ServiceError(422, "There is no such action.")
        return self.bench.redirect("/model", note=note)

    async def show_compare(self, request: Request) -> Response:
        """Texts of which two versions say different things."""
        one, other = (number_of(request.query_params.get(key)) for key in ("one", "other"))
        found = await self.service.work_long(self.service.models.differences, one, other)
        pairs = await self.service.read(lambda db: queries.fixed_and_broken(db, one, other))
        return await self.bench.page(request, "compare", one=one, other=other, found=found, pairs=pairs)
