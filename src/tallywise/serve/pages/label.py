"""Label: one text at a time, with keys."""

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries, store_writes
from tallywise.serve.label_forecast import expected_gain
from tallywise.serve.pages.explained import coloured
from tallywise.serve.pages.workbench import Page, Route, number_of

_KEYS = "123456789"


class LabelPage(Page):
    """The next text to label, and what was said of it."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/label", self.show_label),
            ("POST", "/label", self.take_label),
        ]

    async def show_label(self, request: Request) -> Response:
        """The next text to label."""
        service = self.service
        order = request.query_params.get("order", "least certain")
        order = order if order in queries.ORDERS else "least certain"
        state = request.query_params.get("state", "")
        state = state if state in ("", "unsure", "skipped") else ""
        wanted = request.query_params.get("id", "")

        def look(db: Any) -> dict[str, Any]:
            item = queries.item(db, int(wanted)) if wanted.isdigit() and len(wanted) < 19 else None
            item = item or queries.next_to_label(db, order, state)
            rules = queries.rules(db)
            same: list[int] = []
            near: list[int] = []
            hits = []
            if item is not None:
                same, near = queries.repeats(db, item.id, item.text)
                body = " ".join(item.text.lower().split())
                hits = [
                    (phrase, label, queries.phrase_counts(db, phrase)) for _, phrase, label in rules if phrase in body
                ]
            return {"item": item, "rules": rules, "hits": hits, "same": same, "near": near}

        found = await service.read(look)
        found["counts"] = await service.overview(queries.label_counts)
        item = found["item"]
        verdict = None
        live = service.models.live
        shown: list[tuple[str, int]] = [(item.text, 0)] if item else []
        if item is not None and live is not None:
            (verdict,) = await service.work(live.predictions, [item.text])
            shown = await service.work_long(coloured, live, item.text, verdict.label)
        facts = (await service.work(service.models.get, live.number)).facts if live else {}
        context: dict[str, Any] = {**found, "order": order, "state": state, "verdict": verdict, "shown": shown}
        context |= {"classes": await self.bench.classes(), "keys": _KEYS, "orders": list(queries.ORDERS)}
        context |= {"curve": (facts.get("plots") or {}).get("learning curve", ""), "fitted": facts.get("figures", {})}
        context |= {
            "gain": expected_gain(facts.get("curve") or []),
            "why_not": await service.work(service.trainer.willing),
        }
        return await self.bench.page(request, "label", **context)

    async def take_label(self, request: Request) -> Response:
        """A label, a skip, an undo, or a rule of thumb."""
        service = self.service
        who, fields = await self.bench.form(request)
        act, number = str(fields.get("act", "")), number_of(fields.get("id"))
        back = {key: str(fields.get(key, "")) for key in ("order", "state") if fields.get(key)}
        if act == "undo":
            done = await service.write(lambda db: store_writes.undo(db, who=who.name))
            back["id"] = str(done.id)
        elif act in ("skip", "unsure"):
            await service.write(lambda db: store_writes.put_off(db, number, act, who.name))
        elif act == "rule":
            phrase, label = str(fields.get("phrase", "")), str(fields.get("label", ""))
            await service.write(lambda db: store_writes.add_rule(db, phrase, label))
            back["id"] = str(number)
        elif act.startswith("drop:"):
            rule = number_of(act.removeprefix("drop:"))
            await service.write(lambda db: store_writes.remove_rule(db, rule))
        else:
            label = act.removeprefix("label:") if act.startswith("label:") else str(fields.get("new", ""))
            together = {"same": bool(fields.get("same")), "near": bool(fields.get("near"))}

            def learn(db: Any) -> int:
                item = queries.item(db, number)
                same, near = queries.repeats(db, number, item.text) if item else ([], [])
                others = [*(same if together["same"] else []), *(near if together["near"] else [])]
                for other in others:
                    store_writes.relabel(db, other, label, who.name)
                store_writes.relabel(db, number, label, who.name)
                return 1 + len(others)

            service.metrics.counters["learns"] += await service.write(learn)
        service.trainer.changed()
        return self.bench.redirect("/label", **back)
