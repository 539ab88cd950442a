"""History: every text, with filters, and what was done to each."""

from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries, store_writes
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.explained import coloured
from tallywise.serve.pages.workbench import Page, Route, number_of

_STATES = ("labelled", "unlabelled", "unsure", "skipped", "corrected")


class HistoryPage(Page):
    """Texts that were seen."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/history", self.show_history),
            ("POST", "/history", self.take_history),
            ("GET", "/history/{number}", self.show_item),
        ]

    async def show_history(self, request: Request) -> Response:
        """Texts that pass the filters."""
        asked = request.query_params
        which = queries.Filter(
            q=asked.get("q", "")[:500],
            term=asked.get("term", "")[:500],
            label=asked.get("label") or None,
            verdict=asked.get("verdict") or None,
            version=asked.get("version") or None,
            who=asked.get("who") or None,
            state=asked.get("state") if asked.get("state") in _STATES else None,
            held_out=number_of(asked.get("held_out"), 0) or None,
        )
        before = number_of(asked.get("before"), 0) or None

        def look(db: Any) -> dict[str, Any]:
            items, then = queries.page(db, which, before, 50)
            return {"items": items, "then": then, "count": queries.count(db, which)}

        found = await self.service.read(look)
        found["who_all"] = await self.service.overview(queries.people)
        found["versions"] = await self.service.overview(queries.verdict_versions)
        kept = {key: value for key, value in asked.items() if key not in ("before", "note")}
        more = urlencode({**kept, "before": found["then"]}) if found["then"] else ""
        context: dict[str, Any] = {
            "which": which,
            "more": more,
            "classes": await self.bench.classes(),
            "states": _STATES,
        }
        return await self.bench.page(request, "history", here=request.url.query, **found, **context)

    async def show_item(self, request: Request) -> Response:
        """One text and all that happened to it."""
        number = number_of(request.path_params["number"])
        item = await self.service.read(lambda db: queries.item(db, number))
        if item is None:
            raise ServiceError(404, f"There is no text number {number}.")
        happened = await self.service.read(lambda db: queries.history(db, number))
        live = self.service.models.live
        shown: list[tuple[str, int]] = [(item.text, 0)]
        verdict = None
        if live is not None:
            (verdict,) = await self.service.work(live.predictions, [item.text])
            shown = await self.service.work_long(coloured, live, item.text, verdict.label)
        return await self.bench.page(
            request,
            "item",
            item=item,
            happened=happened,
            shown=shown,
            verdict=verdict,
            classes=await self.bench.classes(),
        )

    async def take_history(self, request: Request) -> Response:
        """Learn, undo, forget or erase, one row or a selection."""
        who, fields = await self.bench.form(request)
        act, _, rest = str(fields.get("act", "")).partition(":")
        number, _, label = rest.partition(":")
        ids = [number_of(number)] if number else [number_of(value) for value in fields.getlist("ids")]
        label = label or str(fields.get("label", ""))
        if not ids:
            raise ServiceError(422, "Choose at least one text.")

        def change(db: Any) -> int:
            done = 0
            for one in ids:
                if act == "learn":
                    done += store_writes.relabel(db, one, label, who.name).changed
                elif act == "forget":
                    done += store_writes.forget(db, one, who.name).changed
                elif act == "erase":
                    done += store_writes.erase(db, [one])
                elif act == "undo":
                    store_writes.undo(db, number=one, who=who.name)
                    done += 1
                elif act == "confirm":
                    store_writes.put_off(db, one, "confirm", who.name)
                    done += 1
                else:
                    raise ServiceError(422, "There is no such action.")
            return done

        count = await self.service.write(change)
        self.service.trainer.changed()
        words = {"learn": "learned", "forget": "forgotten", "erase": "erased", "undo": "undone", "confirm": "kept"}
        back = str(fields.get("back", ""))
        path = back if back in ("/data", "/try") or back.startswith("/history") else "/history"
        joined = "&" if "?" in path else "?"
        return self.bench.redirect(f"{path}{joined}{urlencode({'note': f'{count} {words[act]}'})}")
