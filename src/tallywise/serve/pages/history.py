"""History: every text in a table, with filters, and what was done to each."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request
from fastapi.responses import Response

from tallywise.reading import date_formats
from tallywise.serve import queries, store_writes
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.explained import coloured
from tallywise.serve.pages.label import undone_note
from tallywise.serve.pages.workbench import Page, Route, number_of, own_address

_STATES = ("labelled", "unlabelled", "unsure", "skipped", "corrected")
_A_PAGE = 50
_MOST_AT_ONCE = 100_000  # texts that one action changes
_MOST_VIEWS = 30
_DONE = {"learn": "learned", "forget": "forgotten", "erase": "erased", "undo": "undone", "confirm": "kept",
         "accept": "accepted"}  # fmt: skip


class HistoryPage(Page):
    """Texts that were seen."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/history", self.show_history),
            ("POST", "/history", self.take_history),
            ("POST", "/undo", self.take_undo),
            ("POST", "/views", self.take_view),
            ("GET", "/history/{number}", self.show_item),
        ]

    async def show_history(self, request: Request) -> Response:
        """Texts that pass the filters."""
        asked = dict(request.query_params)
        which = filter_of(asked)
        order = asked.get("sort", "latest")
        order = order if order in queries.SORTS else "latest"
        place = max(number_of(asked.get("page"), 1), 1)

        def look(db: Any) -> dict[str, Any]:
            count = queries.count(db, which)
            at = min(place, max(-(-count // _A_PAGE), 1))
            items = queries.listing(db, which, order, (at - 1) * _A_PAGE, _A_PAGE)
            return {"items": items, "count": count, "at": at, "views": queries.value(db, "views", {})}

        found = await self.service.read(look)
        kept = {key: value for key, value in asked.items() if value and key not in ("page", "note", "step")}
        last = max(-(-found["count"] // _A_PAGE), 1)
        pages = {name: urlencode({**kept, "page": to}) for name, to in
                 (("first", 1), ("newer", found["at"] - 1), ("older", found["at"] + 1), ("last", last))}  # fmt: skip
        return await self.bench.page(
            request,
            "history",
            **found,
            which=which,
            asked=kept,
            order=order,
            sorts=list(queries.SORTS),
            last_page=last,
            pages=pages,
            a_page=_A_PAGE,
            filters=urlencode(kept),
            classes=await self.bench.classes(),
            states=_STATES,
            who_all=await self.service.overview(queries.people),
            versions=await self.service.overview(queries.verdict_versions),
            files=[(one["number"], one["name"]) for one in await self.service.overview(queries.imports)],
            steps=await self.service.read(queries.steps),
        )

    async def show_item(self, request: Request) -> Response:
        """One text and all that happened to it."""
        number = number_of(request.path_params["number"])
        item = await self.service.read(lambda db: queries.item(db, number))
        if item is None:
            raise ServiceError(404, f"There is no text number {number}.")
        happened = await self.service.read(lambda db: queries.history(db, number))
        live = self.service.models.live
        shown: list[tuple[str, int]] = [(item.text, 0)]
        verdict, unlike = None, False
        if live is not None:
            (verdict,) = await self.service.work(live.predictions, [item.text])
            unlike = bool((await self.service.work(live.model.out_of_depth, [item.text]))[0])
            shown = await self.service.work_long(coloured, live, item.text, verdict.label)
        return await self.bench.page(
            request,
            "item",
            item=item,
            happened=happened,
            shown=shown,
            verdict=verdict,
            unlike=unlike,
            classes=await self.bench.classes(),
        )

    async def take_history(self, request: Request) -> Response:
        """Learn, accept, undo, forget or erase: one row, a selection, or all that the filters find, in one step."""
        who, fields = await self.bench.form(request)
        act, _, rest = str(fields.get("act", "")).partition(":")
        if act not in _DONE:
            raise ServiceError(422, "There is no such action.")
        number, _, label = rest.partition(":")
        label = label or str(fields.get("label", ""))
        ids = [number_of(number)] if number else [number_of(value) for value in fields.getlist("ids")]
        which = filter_of(dict(parse_qsl(str(fields.get("filters", "")))))
        if act == "accept":
            which = which._replace(low=max(which.low or 0.0, _share(fields.get("above"), "above") or 0.0))
        elif not ids and not fields.get("all"):
            raise ServiceError(422, "Choose at least one text.")

        def change(db: Any) -> tuple[int, int]:
            chosen = ids
            if (fields.get("all") and not number) or act == "accept":
                chosen = queries.ids(db, which, _MOST_AT_ONCE)
            done, before = 0, store_writes.last_event(db)
            with store_writes.together(db):
                for one in chosen:
                    done += _act(db, act, one, label, who.name)
            return done, before + 1 if store_writes.last_event(db) > before else 0

        count, step = await self.service.write(change)
        self.service.trainer.changed()
        back = own_address(str(fields.get("back", "")), "/history")
        extra = {"step": str(step)} if step and act not in ("erase", "undo") else {}
        return self.bench.redirect(back, note=f"{count:,} {_DONE[act]}", **extra)

    async def take_undo(self, request: Request) -> Response:
        """Undo a step as a whole."""
        who, fields = await self.bench.form(request)
        step = number_of(fields.get("step"))
        done = await self.service.write(lambda db: store_writes.undo(db, step=step, who=who.name))
        self.service.trainer.changed()
        return self.bench.redirect(own_address(str(fields.get("back", "")), "/history"), note=undone_note(done))

    async def take_view(self, request: Request) -> Response:
        """Keep filters under a name, or drop them."""
        _, fields = await self.bench.form(request)
        name, drop = " ".join(str(fields.get("name", "")).split())[:60], str(fields.get("drop", ""))
        filters = urlencode(parse_qsl(str(fields.get("filters", ""))[:2000]))
        if not name and not drop:
            raise ServiceError(422, "Give the view a name.", field="name")

        def change(db: Any) -> None:
            views = queries.value(db, "views", {})
            views.pop(drop, None)
            if not drop:
                views[name] = filters
            if len(views) > _MOST_VIEWS:
                raise ServiceError(422, f"There are {_MOST_VIEWS} views already: drop one.", field="name")
            store_writes.set_value(db, "views", views)

        await self.service.write(change)
        return self.bench.redirect(f"/history?{filters}" if filters else "/history", note="dropped" if drop else "kept")


def _act(db: Any, act: str, number: int, label: str, who: str) -> int:
    """Do something to one text; 1 if that changed it."""
    if act == "accept":
        item = queries.item(db, number)
        if item is None or item.label is not None or item.verdict is None:
            return 0
        return int(store_writes.relabel(db, number, item.verdict, who, "chosen").changed)
    if act == "learn":
        return int(store_writes.relabel(db, number, label, who).changed)
    if act == "forget":
        return int(store_writes.forget(db, number, who).changed)
    if act == "erase":
        return store_writes.erase(db, [number])
    if act == "undo":
        store_writes.undo(db, number=number, who=who)
    else:
        store_writes.put_off(db, number, "confirm", who)
    return 1


def filter_of(asked: dict[str, str]) -> queries.Filter:
    """The filter that an address asks for."""
    return queries.Filter(
        q=asked.get("q", "")[:500],
        term=asked.get("term", "")[:500],
        label=asked.get("label") or None,
        verdict=asked.get("verdict") or None,
        version=asked.get("version") or None,
        who=asked.get("who") or None,
        state=asked.get("state") if asked.get("state") in _STATES else None,
        held_out=number_of(asked.get("held_out"), 0) or None,
        file=number_of(asked.get("file"), 0) or None,
        low=_share(asked.get("low"), "low"),
        high=_share(asked.get("high"), "high"),
        apart=_share(asked.get("apart"), "apart"),
        since=_day(asked.get("since"), "since"),
        until=_day(asked.get("until"), "until"),
    )


def _share(text: Any, field: str) -> float | None:
    """A share that is written in percent."""
    if not str(text or "").strip():
        return None
    try:
        found = float(str(text).replace(",", ".").rstrip(" %"))
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        raise ServiceError(422, f"A number of percent from 0 to 100 is wanted. Got {str(text)[:40]!r}.", field=field)
    return found / 100


def _day(text: Any, field: str) -> float | None:
    written = str(text or "").strip()
    if not written:
        return None
    if date_formats.date_format([written]) is None:
        raise ServiceError(422, f"A date such as 2024-02-29 is wanted. Got {written[:40]!r}.", field=field)
    return float(date_formats.dates([written], str(date_formats.date_format([written])))[0])
