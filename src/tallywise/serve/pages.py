"""The workbench: pages made here, so that they can be read without a script; the script makes them quick."""

import asyncio
import csv
import io
import json
import secrets
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tallywise._highlight import pieces
from tallywise.serve import changes, queries
from tallywise.serve.answers import ServiceError
from tallywise.serve.guard import Who
from tallywise.serve.models import Live, expected_gain
from tallywise.serve.service import Service, told

_FOLDER = files("tallywise.serve")
_KEYS = "123456789"
_LONGEST_SHOWN = 20_000
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt", ".eml", ".mbox")
_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_STATES = ("labelled", "unlabelled", "unsure", "skipped", "corrected")


class Workbench:
    """Renders pages and takes forms."""

    def __init__(self, service: Service) -> None:
        self.service = service
        environment = Environment(
            loader=FileSystemLoader(str(_FOLDER / "templates")), autoescape=True, undefined=StrictUndefined
        )
        environment.filters |= {"percent": percent, "when": when, "excerpt": excerpt, "number": "{:,}".format}
        environment.globals |= {"svg": Markup}
        self._templates = environment

    # --- rendering ---

    async def page(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        """A page; whoever has no session yet gets one."""
        service = self.service
        who: Who = request.scope["tally.who"]
        cookie = None
        if not who.session and who.role != "nobody":
            cookie = service.guard.new_session(who.role, who.name)
            who = who._replace(session=cookie.split(".")[3])
        live = service.models.live
        body = self._templates.get_template(f"{name}.html").render(
            page=name,
            who=who,
            token=service.guard.form_token(who),
            live=live,
            totals=await service.read(queries.totals),
            progress=service.trainer.progress,
            reading=service.reading,
            needs_login=bool(service.settings.token),
            note=request.query_params.get("note", "")[:300],
            **context,
        )
        response = HTMLResponse(body, status)
        response.headers["cache-control"] = "no-store"
        if cookie is not None:
            response.headers["set-cookie"] = service.guard.set_cookie(cookie)
        return response

    async def form(self, request: Request) -> tuple[Who, Any]:
        """The fields of a form that one of our pages made."""
        who: Who = request.scope["tally.who"]
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
            raise ServiceError(415, "A form is wanted here.")
        fields = await request.form(max_files=1, max_fields=2000, max_part_size=self.service.settings.max_body)
        self.service.guard.check_form(who, str(fields.get("token", "")))
        return who, fields

    async def classes(self) -> list[str]:
        """Labels in use, those of the model first."""
        counts = await self.service.read(queries.label_counts)
        live = self.service.models.live
        return list(dict.fromkeys([*(live.names if live else []), *counts]))

    # --- Try ---

    async def show_try(self, request: Request) -> Response:
        """An empty Try page."""
        return await self.page(request, "try", text="", found=None, classes=await self.classes())

    async def answer_try(self, request: Request) -> Response:
        """Verdict, reasons, and what would change it."""
        service = self.service
        who, fields = await self.form(request)
        text = str(fields.get("text", ""))
        found: dict[str, Any] | None = None
        if text.strip():
            live = service.models.current()
            found = await service.work(explanation, live, text)
            facts = (await service.work(service.models.get, live.number)).facts
            found["near"] = await service.read(lambda db: queries.nearest_labelled(db, text))
            found["sweep"] = json.dumps(facts.get("sweep") or [])
            found["positive"] = facts.get("positive", 1)
            found["threshold"] = facts.get("threshold", 0.5)
            if who.may_change:
                verdict = found["verdict"]
                row = (text, verdict.label, verdict.probability, verdict.margin)
                numbers = await service.write(lambda db: changes.record(db, [row], live.version, "page"))
                found["item"] = await service.read(lambda db: queries.item(db, numbers[0]))
        return await self.page(request, "try", text=text, found=found, classes=await self.classes())

    # --- Label ---

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
            counts = queries.label_counts(db)
            return {"item": item, "rules": rules, "hits": hits, "same": same, "near": near, "counts": counts}

        found = await service.read(look)
        item = found["item"]
        verdict = None
        live = service.models.live
        shown: list[tuple[str, int]] = [(item.text, 0)] if item else []
        if item is not None and live is not None:
            (verdict,) = await service.work(live.verdicts, [item.text])
            shown = await service.work(coloured, live, item.text, verdict.label)
        facts = (await service.work(service.models.get, live.number)).facts if live else {}
        context: dict[str, Any] = {**found, "order": order, "state": state, "verdict": verdict, "shown": shown}
        context |= {"classes": await self.classes(), "keys": _KEYS, "orders": list(queries.ORDERS)}
        context |= {"curve": (facts.get("plots") or {}).get("learning curve", ""), "fitted": facts.get("figures", {})}
        context |= {
            "gain": expected_gain(facts.get("curve") or []),
            "why_not": await service.work(service.trainer.willing),
        }
        return await self.page(request, "label", **context)

    async def take_label(self, request: Request) -> Response:
        """A label, a skip, an undo, or a rule of thumb."""
        service = self.service
        who, fields = await self.form(request)
        act, number = str(fields.get("act", "")), _number(fields.get("id"))
        back = {key: str(fields.get(key, "")) for key in ("order", "state") if fields.get(key)}
        if act == "undo":
            done = await service.write(lambda db: changes.undo(db, who=who.name))
            back["id"] = str(done.id)
        elif act in ("skip", "unsure"):
            await service.write(lambda db: changes.put_off(db, number, act, who.name))
        elif act == "rule":
            phrase, label = str(fields.get("phrase", "")), str(fields.get("label", ""))
            await service.write(lambda db: changes.add_rule(db, phrase, label))
            back["id"] = str(number)
        elif act.startswith("drop:"):
            rule = _number(act.removeprefix("drop:"))
            await service.write(lambda db: changes.remove_rule(db, rule))
        else:
            label = act.removeprefix("label:") if act.startswith("label:") else str(fields.get("new", ""))
            together = {"same": bool(fields.get("same")), "near": bool(fields.get("near"))}

            def learn(db: Any) -> int:
                item = queries.item(db, number)
                same, near = queries.repeats(db, number, item.text) if item else ([], [])
                others = [*(same if together["same"] else []), *(near if together["near"] else [])]
                for other in others:
                    changes.relabel(db, other, label, who.name)
                changes.relabel(db, number, label, who.name)
                return 1 + len(others)

            service.metrics.counters["learns"] += await service.write(learn)
        service.trainer.changed()
        return _to("/label", **back)

    # --- History ---

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
            held_out=_number(asked.get("held_out"), 0) or None,
        )
        before = _number(asked.get("before"), 0) or None

        def look(db: Any) -> dict[str, Any]:
            items, then = queries.page(db, which, before, 50)
            return {"items": items, "then": then, "count": queries.count(db, which), "who_all": queries.people(db)}

        found = await self.service.read(look)
        kept = {key: value for key, value in asked.items() if key not in ("before", "note")}
        more = urlencode({**kept, "before": found["then"]}) if found["then"] else ""
        context: dict[str, Any] = {"which": which, "more": more, "classes": await self.classes(), "states": _STATES}
        return await self.page(request, "history", here=request.url.query, **found, **context)

    async def show_item(self, request: Request) -> Response:
        """One text and all that happened to it."""
        number = _number(request.path_params["number"])
        item = await self.service.read(lambda db: queries.item(db, number))
        if item is None:
            raise ServiceError(404, f"There is no text number {number}.")
        happened = await self.service.read(lambda db: queries.history(db, number))
        live = self.service.models.live
        shown: list[tuple[str, int]] = [(item.text, 0)]
        verdict = None
        if live is not None:
            (verdict,) = await self.service.work(live.verdicts, [item.text])
            shown = await self.service.work(coloured, live, item.text, verdict.label)
        return await self.page(
            request, "item", item=item, happened=happened, shown=shown, verdict=verdict, classes=await self.classes()
        )

    async def take_history(self, request: Request) -> Response:
        """Learn, undo, forget or erase, one row or a selection."""
        who, fields = await self.form(request)
        act, _, rest = str(fields.get("act", "")).partition(":")
        number, _, label = rest.partition(":")
        ids = [_number(number)] if number else [_number(value) for value in fields.getlist("ids")]
        label = label or str(fields.get("label", ""))
        if not ids:
            raise ServiceError(422, "Choose at least one text.")

        def change(db: Any) -> int:
            done = 0
            for one in ids:
                if act == "learn":
                    done += changes.relabel(db, one, label, who.name).changed
                elif act == "forget":
                    done += changes.forget(db, one, who.name).changed
                elif act == "erase":
                    done += changes.erase(db, [one])
                elif act == "undo":
                    changes.undo(db, number=one, who=who.name)
                    done += 1
                elif act == "confirm":
                    changes.put_off(db, one, "confirm", who.name)
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
        return RedirectResponse(f"{path}{joined}{urlencode({'note': f'{count} {words[act]}'})}", 303)

    # --- Model ---

    async def show_model(self, request: Request) -> Response:
        """Figures, confusion, terms, versions."""
        service = self.service
        versions = await service.read(queries.versions)
        live = service.models.live
        asked = _number(request.query_params.get("version"), 0) or (live.number if live else 0)
        chosen = next((version for version in versions if version.version == asked), None)
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
        return await self.page(request, "model", **context)

    async def take_model(self, request: Request) -> Response:
        """Activate, roll back or fit."""
        service = self.service
        _, fields = await self.form(request)
        act, _, number = str(fields.get("act", "")).partition(":")
        if act == "activate":
            latest = (await service.read(queries.versions))[0].version
            live = await service.work(service.models.activate, _number(number), _number(number) != latest)
            note = f"version {live.version} is in place"
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
        return _to("/model", note=note)

    async def show_compare(self, request: Request) -> Response:
        """Texts of which two versions say different things."""
        one, other = (_number(request.query_params.get(key)) for key in ("one", "other"))
        found = await self.service.work(self.service.models.differences, one, other)
        return await self.page(request, "compare", one=one, other=other, found=found)

    # --- Topics ---

    @property
    def _topics_file(self) -> Path:
        return self.service.store.folder / "topics.json"

    async def show_topics(self, request: Request) -> Response:
        """The topics found last."""
        found = None
        if self._topics_file.exists():
            found = json.loads(await self.service.work(self._topics_file.read_text, "utf-8"))
            numbers = {number for topic in found["documents"] for number, _ in topic}

            def bodies(db: Any) -> dict[int, str]:
                marks = ",".join("?" * len(numbers))
                return dict(db.execute(f"SELECT id, text FROM texts WHERE id IN ({marks})", tuple(numbers)).fetchall())

            found["bodies"] = await self.service.read(bodies)
            found["circles"] = circles(found["places"], found["shares"])
        return await self.page(request, "topics", found=found)

    async def take_topics(self, request: Request) -> Response:
        """Find topics anew."""
        _, fields = await self.form(request)
        wanted = _number(fields.get("n_topics"))
        if not 2 <= wanted <= 100:
            raise ServiceError(422, "Ask for 2 to 100 topics.")
        order = {"do": "topics", "n_topics": wanted, "out": str(self._topics_file)}
        self.service.spawn(self.service.trainer.order_alone(order))
        return _to("/topics", note=f"looking for {wanted} topics")

    async def export_topics(self, request: Request) -> Response:
        """Topics as JSON."""
        if not self._topics_file.exists():
            raise ServiceError(404, "No topics have been found yet.")
        return FileResponse(self._topics_file, media_type="application/json", filename="topics.json")

    # --- Data ---

    async def show_data(self, request: Request) -> Response:
        """What was read, and what looks wrong with it."""
        live = self.service.models.live

        def look(db: Any) -> dict[str, Any]:
            return {
                "sources": queries.sources(db),
                "repeats": queries.repeat_count(db),
                "conflicts": queries.conflicts(db),
                "doubtful": queries.doubtful(db, live.number) if live else [],
                "counts": queries.label_counts(db),
                "facts": (queries.version(db, live.number).facts if live else {}),  # type: ignore[union-attr]
            }

        return await self.page(request, "data", **await self.service.read(look))

    async def upload(self, request: Request) -> Response:
        """A file, or pasted lines, into the store."""
        from tallywise.serve.run import take

        service = self.service
        who, fields = await self.form(request)
        given = fields.get("file")
        folder = service.store.folder / "uploads"
        folder.mkdir(exist_ok=True)
        if given is not None and not isinstance(given, str) and given.filename:
            name = excerpt(Path(given.filename).name, 80)
            suffix = Path(given.filename).suffix.lower()
            path = folder / (secrets.token_hex(8) + (suffix if suffix in _SUFFIXES else ""))
            with path.open("wb") as out:
                while chunk := await given.read(1 << 20):
                    await service.work(out.write, chunk)
        else:
            pasted = str(fields.get("pasted", ""))
            if not pasted.strip():
                raise ServiceError(422, "Choose a file, or paste texts, one a line.")
            name, path = "pasted", folder / f"{secrets.token_hex(8)}.lines"
            await service.work(path.write_text, pasted, "utf-8")
        format = "lines" if path.suffix == ".lines" else None
        try:
            job = await service.work(lambda: take(service, str(path), who=who.name, name=name, format=format))
        except BaseException:
            path.unlink(missing_ok=True)
            raise

        async def read() -> None:
            try:
                await asyncio.to_thread(job)
            finally:
                path.unlink(missing_ok=True)
                service.trainer.changed()

        task = service.spawn(read())
        await asyncio.wait([task], timeout=2.0)  # a small file is there when the page is
        return _to("/data", note=f"{name}: being read" if not task.done() else f"{name}: read")

    async def export(self, request: Request) -> Response:
        """Labels as CSV or JSON lines."""
        kind = request.path_params["kind"]
        rows = self._labelled_rows(_as_csv if kind == "csv" else _as_jsonl, kind == "csv")
        headers = {"content-disposition": f'attachment; filename="labels.{kind}"'}
        media = "text/csv; charset=utf-8" if kind == "csv" else "application/x-ndjson"
        return StreamingResponse(rows, media_type=media, headers=headers)

    async def _labelled_rows(self, line: Callable[[queries.Item], str], head: bool) -> AsyncIterator[str]:
        if head:
            yield "text,label,labelled_by,source\r\n"
        before: int | None = None
        which = queries.Filter(state="labelled")
        while True:
            items, before = await self.service.read(lambda db, b=before: queries.page(db, which, b, 500))  # type: ignore[misc]
            yield "".join(line(item) for item in items)
            if before is None:
                return

    async def export_model(self, request: Request) -> Response:
        """The model in place, as a file."""
        live = self.service.models.current()
        version = await self.service.work(self.service.models.get, live.number)
        path = self.service.store.models / version.file
        return FileResponse(path, media_type="application/octet-stream", filename=f"model-{live.version}.tally")

    # --- coming and going ---

    async def show_login(self, request: Request) -> Response:
        """Ask for the token."""
        return await self.page(request, "login", then=request.query_params.get("then", "/"), wrong="")

    async def take_login(self, request: Request) -> Response:
        """Let in who knows a token."""
        fields = await request.form(max_files=0, max_fields=10, max_part_size=4096)
        then = str(fields.get("then", "/"))
        safe = then if then.startswith("/") and not then.startswith(("//", "/\\")) else "/"
        try:
            cookie = self.service.guard.log_in(str(fields.get("secret", "")), str(fields.get("name", "")))
        except ServiceError as error:
            return await self.page(request, "login", error.status, then=safe, wrong=error.message)
        response = RedirectResponse(safe, 303)
        response.headers["set-cookie"] = self.service.guard.set_cookie(cookie)
        return response

    async def log_out(self, request: Request) -> Response:
        """End the session in this browser."""
        await self.form(request)
        response = RedirectResponse("/login", 303)
        response.headers["set-cookie"] = self.service.guard.set_cookie("")
        return response

    async def status(self, request: Request) -> Response:
        """The line that pages keep up to date."""
        return await self.page(request, "status")

    def guarded(self, handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """A handler whose errors are pages, too."""

        async def answer(request: Request) -> Response:
            try:
                found: Response = await handler(request)
                return found
            except ServiceError as error:
                known = error
            except Exception as error:
                known = told(error)
                if known.status == 500:
                    raise
            return await self.page(request, "error", known.status, error=known)

        return answer


def add_pages(app: FastAPI, service: Service) -> None:
    """Give an application the workbench."""
    bench = Workbench(service)

    async def home(request: Request) -> Response:
        totals = await service.read(queries.totals)
        first = "/try" if service.models.live else "/label" if totals["texts"] else "/data"
        return RedirectResponse(first, 303)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "report.css":  # the report's pictures look the same in both places
            path = files("tallywise.evaluation") / "report" / "page.css"
            return Response(path.read_text(), media_type="text/css")
        if name not in _STATIC:
            raise ServiceError(404, "There is no such file.")
        return Response((_FOLDER / "static" / name).read_text(), media_type=_STATIC[name])

    routes: list[tuple[str, str, Callable[[Request], Any]]] = [
        ("GET", "/", home),
        ("GET", "/static/{name}", static),
        ("GET", "/try", bench.show_try),
        ("POST", "/try", bench.answer_try),
        ("GET", "/label", bench.show_label),
        ("POST", "/label", bench.take_label),
        ("GET", "/history", bench.show_history),
        ("POST", "/history", bench.take_history),
        ("GET", "/history/{number}", bench.show_item),
        ("GET", "/model", bench.show_model),
        ("POST", "/model", bench.take_model),
        ("GET", "/model/compare", bench.show_compare),
        ("GET", "/topics", bench.show_topics),
        ("POST", "/topics", bench.take_topics),
        ("GET", "/topics/export", bench.export_topics),
        ("GET", "/data", bench.show_data),
        ("POST", "/data/upload", bench.upload),
        ("GET", "/data/labels.{kind}", bench.export),
        ("GET", "/data/model", bench.export_model),
        ("GET", "/login", bench.show_login),
        ("POST", "/login", bench.take_login),
        ("POST", "/logout", bench.log_out),
        ("GET", "/status", bench.status),
    ]
    for method, path, handler in routes:
        app.add_route(path, bench.guarded(handler), methods=[method], include_in_schema=False)


# --- what templates show ---


def explanation(live: Live, text: str) -> dict[str, Any]:
    """All that Try shows of a text."""
    (verdict,) = live.verdicts([text])
    found = live.model.explain(text, live.label(verdict.label))
    words = [(word.term, word.contribution) for word in found.words[:15]]
    rest = sum(word.contribution for word in found.words[15:])
    top = max([abs(c) for _, c in words] + [abs(rest), abs(found.bias), 1e-12])
    rows = [*words, (f"{len(found.words) - 15} other words", rest)] if len(found.words) > 15 else words
    bars = [
        {"term": term, "value": value, "length": round(100 * abs(value) / top, 1)}
        for term, value in [*rows, ("bias", found.bias)]
    ]
    flip = live.model.flip(text) if len(text) <= _LONGEST_SHOWN else None
    ranked = sorted(zip(live.names, verdict.probabilities, strict=True), key=lambda pair: -pair[1])[:8]
    return {
        "verdict": verdict,
        "pieces": _shades(text, found),
        "bars": bars,
        "score": found.score,
        "flip": flip,
        "ranked": ranked,
        "version": live.version,
        "names": live.names,
        "names_json": json.dumps(live.names),
        "item": None,
    }


def coloured(live: Live, text: str, label: str) -> list[tuple[str, int]]:
    """A text in pieces, each with its shade: 1 to 5 for the label, -1 to -5 against it, 0 for neither."""
    return _shades(text, live.model.explain(text, live.label(label)))


def _shades(text: str, found: Any) -> list[tuple[str, int]]:
    spans = [(a, b, word.contribution / len(word.spans)) for word in found.words for a, b in word.spans]
    cut = pieces(text[:_LONGEST_SHOWN], spans)
    top = max((abs(weight) for _, weight in cut), default=0.0) or 1.0
    shades = [(piece, round(5 * weight / top)) for piece, weight in cut]
    return [*shades, (" …", 0)] if len(text) > _LONGEST_SHOWN else shades


def circles(places: list[list[float]], shares: list[float]) -> list[dict[str, float]]:
    """Topics on a map of 400 by 300: the area is the share."""
    xs, ys = [x for x, _ in places], [y for _, y in places]
    reach = max(max(xs) - min(xs), max(ys) - min(ys), 1e-9)
    middle = ((max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2)
    return [
        {
            "x": round(200 + 240 * (x - middle[0]) / reach, 1),
            "y": round(150 + 240 * (y - middle[1]) / reach * 0.8, 1),
            "r": round(max(8.0, 90 * share**0.5 / 2), 1),
        }
        for (x, y), share in zip(places, shares, strict=True)
    ]


def percent(share: float | None, digits: int = 1) -> str:
    """A share as people say it."""
    return "" if share is None else f"{100 * share:.{digits}f} %"


def when(at: float | None) -> str:
    """A time as people say it."""
    return "" if at is None else datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")


def excerpt(text: str, width: int = 160) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width and len(text) <= 4 * width else line[: width - 1] + "…"


def _number(value: Any, default: int | None = None) -> int:
    """A whole number of a form or an address."""
    text = str(value or "")
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    if default is None:
        raise ServiceError(422, f"A number is wanted. Got {excerpt(text, 40)!r}.")
    return default


def _to(path: str, **query: str) -> Response:
    return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)


def _as_csv(item: queries.Item) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([item.text, item.label, item.labelled_by or "", item.source])
    return out.getvalue()


def _as_jsonl(item: queries.Item) -> str:
    row = {"text": item.text, "label": item.label, "labelled_by": item.labelled_by, "labelled_at": item.labelled_at}
    return json.dumps({**row, "source": item.source}, ensure_ascii=False) + "\n"
