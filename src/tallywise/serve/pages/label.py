"""Label: one text at a time, with keys."""

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries, store_writes
from tallywise.serve.access import Who
from tallywise.serve.answers import ServiceError
from tallywise.serve.label_forecast import expected_gain
from tallywise.serve.pages.explained import coloured
from tallywise.serve.pages.workbench import Page, Route, number_of

_RANDOM = 5  # of so many texts one is drawn at random where the others are those that the model is least sure of
_FEWEST_FORECAST = 100  # labels, below which what a hundred more bring is not foretold
_LAST = 5


class LabelPage(Page):
    """The next text to label, and what was said of it."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/label", self.show_label),
            ("POST", "/label", self.take_label),
            ("POST", "/classes", self.take_class),
        ]

    async def show_label(self, request: Request) -> Response:
        """The next text to label."""
        service, asked = self.service, request.query_params
        who: Who = request.scope["tally.who"]
        order = asked.get("order", "least certain")
        order = order if order in queries.ORDERS else "least certain"
        state = asked.get("state", "")
        state = state if state in ("", "unsure", "skipped") else ""
        wanted = number_of(asked.get("id"), 0)
        tab = service.claims.tab(asked.get("tab", ""))
        taken, held = service.claims.of_others(tab), service.claims.held(tab)

        def look(db: Any) -> dict[str, Any]:
            item = queries.item(db, wanted) if wanted else None
            drawn = "random" if order == "as given" else "chosen"
            if item is None and held is not None and not state:
                before = queries.item(db, held)
                if before and before.label is None and not before.state:
                    item, drawn = before, service.claims.drawn(held)
            elif item is not None:
                drawn = service.claims.drawn(item.id)
            if item is None:
                at_random = order != "as given" and not state and queries.label_steps(db) % _RANDOM == _RANDOM - 1
                item = queries.next_to_label(db, order, state, taken, at_random)
                drawn = "random" if at_random else drawn
            found: dict[str, Any] = {"item": item, "rules": queries.rules(db), "drawn": drawn, "seen": (0, "")}
            found |= {"same": [], "near": [], "hits": [], "last": queries.steps(db, who.name, _LAST)}
            if item is not None:
                found["same"], found["near"] = queries.repeats(db, item.id, item.text)
                found["seen"] = queries.last_change(db, item.id)
                body = " ".join(item.text.lower().split())
                found["hits"] = [
                    (phrase, label, queries.phrase_counts(db, phrase))
                    for _, phrase, label in found["rules"]
                    if phrase in body
                ]
            return found

        found = await service.read(look)
        item, live = found["item"], service.models.live
        counts = await service.overview(queries.label_counts)
        classes = await self.bench.classes()
        verdict, unlike, likely = None, False, {}
        shown: list[tuple[str, int]] = [(item.text, 0)] if item else []
        if item is not None and who.may_change:
            service.claims.take(tab, item.id, found["drawn"])
        if item is not None and live is not None:
            (verdict,) = await service.work(live.predictions, [item.text])
            unlike = bool((await service.work(live.model.out_of_depth, [item.text]))[0])
            shown = await service.work_long(coloured, live, item.text, verdict.label)
            likely = dict(zip(live.names, verdict.probabilities, strict=True))
        facts = (await service.work(service.models.get, live.number)).facts if live else {}
        enough = sum(counts.values()) >= _FEWEST_FORECAST
        return await self.bench.page(
            request,
            "label",
            **found,
            order=order,
            asked_state=state,
            tab=tab,
            elsewhere=len(taken),
            verdict=verdict,
            unlike=unlike,
            likely=likely,
            shown=shown,
            counts=counts,
            classes=classes,
            orders=list(queries.ORDERS),
            curve=(facts.get("plots") or {}).get("learning curve", ""),
            fitted=facts.get("figures", {}),
            audit=facts.get("audit"),
            gain=expected_gain(facts.get("curve") or []) if enough else None,
            fewest=_FEWEST_FORECAST,
            one_in=_RANDOM,
            why_not=await service.work(service.trainer.willing),
        )

    async def take_label(self, request: Request) -> Response:
        """A label, a skip, an undo, or a rule of thumb."""
        service = self.service
        who, fields = await self.bench.form(request)
        act, number = str(fields.get("act", "")), number_of(fields.get("id"), 0)
        back = {key: str(fields.get(key, "")) for key in ("order", "state", "tab") if fields.get(key)}
        if act == "undo":
            done = await service.write(lambda db: store_writes.undo(db, who=who.name))
            back |= {"id": str(done.ids[0]), "note": undone_note(done)}
        elif act == "rule":
            phrase, label = str(fields.get("phrase", "")), str(fields.get("label", ""))
            await service.write(lambda db: store_writes.add_rule(db, phrase, label))
            back["id"] = str(number)
        elif act.startswith("drop:"):
            rule = number_of(act.removeprefix("drop:"))
            await service.write(lambda db: store_writes.remove_rule(db, rule))
        else:
            await self._label(who, fields, act, number)
        service.trainer.changed()
        return self.bench.redirect("/label", **back)

    async def _label(self, who: Who, fields: Any, act: str, number: int) -> None:
        """Label or put off the text that the form shows, unless somebody else has dealt with it since."""
        service = self.service
        label = act.removeprefix("label:") if act.startswith("label:") else str(fields.get("new", ""))
        seen = number_of(fields.get("seen"), 0)
        together = [bool(fields.get(name)) for name in ("same", "near")]
        drawn = service.claims.drawn(number)

        def learn(db: Any) -> int:
            item = queries.item(db, number)
            last, by = queries.last_change(db, number)
            if item is not None and last > seen and not (item.label == label and label):
                now = f"labelled it {item.label!r}" if item.label else f"marked it {item.state or 'as not labelled'}"
                by = "You" if by == who.name else by or "Somebody"
                msg = f"{by} {now} in the meantime, so nothing was changed. Load the page for the next text."
                raise ServiceError(409, msg, "stale_label", "new")
            if act in ("skip", "unsure"):
                return 0 * store_writes.put_off(db, number, act, who.name)
            ids = [number]
            if item is not None and any(together):
                groups = zip(queries.repeats(db, item.id, item.text), together, strict=True)
                ids += [other for group, chosen in groups if chosen for other in group]
            with store_writes.together(db):
                for one in ids:
                    store_writes.relabel(db, one, label, who.name, drawn if one == number else "")
            return len(ids)

        try:
            service.metrics.counters["learns"] += await service.write(learn)
        except ValueError as error:
            raise ServiceError(422, str(error), field="new") from None

    async def take_class(self, request: Request) -> Response:
        """What a class is called, what it is, its place and colour."""
        who, fields = await self.bench.form(request)
        old, new = str(fields.get("old", "")), str(fields.get("name", ""))
        about, place = str(fields.get("about", "")), number_of(fields.get("place"))
        colour = min(max(number_of(fields.get("colour"), 1), 1), 12)

        def change(db: Any) -> tuple[int, int]:
            store_writes.describe_class(db, old, about, place, colour)
            return store_writes.rename_class(db, old, new, who.name), store_writes.last_event(db)

        try:
            count, _ = await self.service.write(change)
        except ValueError as error:
            raise ServiceError(422, str(error), field="name") from None
        self.service.trainer.changed()
        note = f"{count:,} texts are {store_writes.clean_label(new)!r} now" if count else "saved"
        return self.bench.redirect("/data", note=note)


def undone_note(done: store_writes.Undone) -> str:
    """What an undo did, in words."""
    left = f"; {done.kept:,} left as they are, since they were changed again" if done.kept else ""
    return f"{len(done.ids):,} undone{left}"
