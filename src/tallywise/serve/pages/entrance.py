"""Coming and going: the overview, log in, log out, light or dark, files of the pages, the status line."""

from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.reading.label_spellings import spellings
from tallywise.serve import queries
from tallywise.serve.access import Who
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.workbench import THEMES, Page, Route, own_address
from tallywise.serve.rendering import FOLDER

_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}
_FEW = 20  # examples of a class, below which more of it help most
_A_SITTING = 25  # texts


class Entrance(Page):
    """What is not a page of its own."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/", self.home),
            ("GET", "/static/{name}", self.static),
            ("GET", "/login", self.show_login),
            ("POST", "/login", self.take_login),
            ("POST", "/logout", self.log_out),
            ("POST", "/theme", self.take_theme),
            ("GET", "/status", self.status),
        ]

    async def home(self, request: Request) -> Response:
        """How good the model is in one sentence, and what to do next."""
        service, live = self.service, self.service.models.live
        totals = await service.overview(queries.totals)
        if not totals["texts"] and not live:
            return self.bench.redirect("/data")
        counts = await service.overview(queries.label_counts)
        facts = (await service.work(service.models.get, live.number)).facts if live else {}
        found = {
            "doubtful": len(await service.read(lambda db: queries.doubtful(db, live.number))) if live else 0,
            "conflicts": len(await service.overview(queries.conflicts)),
            "spellings": len(spellings(counts)),
        }
        return await self.bench.page(
            request,
            "home",
            counts=counts,
            facts=facts,
            behind=await service.work(service.trainer.behind),
            next_things=next_things(totals, counts, bool(live), **found),
            steps=await service.read(queries.steps),
        )

    async def static(self, request: Request) -> Response:
        """Style, script, icon."""
        name = request.path_params["name"]
        if name == "report.css":  # the report's pictures look the same in both places
            path = files("tallywise.report") / "templates" / "page.css"
            return Response(path.read_text(), media_type="text/css")
        if name not in _STATIC:
            raise ServiceError(404, "There is no such file.")
        return Response((FOLDER / "static" / name).read_text(), media_type=_STATIC[name])

    async def show_login(self, request: Request) -> Response:
        """Ask for the token."""
        return await self.bench.page(request, "login", then=request.query_params.get("then", "/"), wrong="")

    async def take_login(self, request: Request) -> Response:
        """Let in who knows a token."""
        fields = await request.form(max_files=0, max_fields=10, max_part_size=4096)
        then = str(fields.get("then", "/"))
        safe = then if then.startswith("/") and not then.startswith(("//", "/\\")) else "/"
        guard = self.service.guard
        address = guard.address(request.scope["headers"], request.scope["client"])
        try:
            cookie = guard.log_in(str(fields.get("secret", "")), str(fields.get("name", "")), address)
        except ServiceError as error:
            return await self.bench.page(request, "login", error.status, then=safe, wrong=error.message)
        response = self.bench.redirect(safe)
        response.headers["set-cookie"] = guard.set_cookie(cookie)
        return response

    async def log_out(self, request: Request) -> Response:
        """End the session, in this browser and for whoever else has its cookie."""
        who, _ = await self.bench.form(request)
        await self.service.log_out(who)
        response = self.bench.redirect("/login")
        response.headers["set-cookie"] = self.service.guard.set_cookie("")
        return response

    async def take_theme(self, request: Request) -> Response:
        """Light, dark, or as the system has it."""
        _, fields = await self.bench.form(request)
        theme = str(fields.get("theme", ""))
        response = self.bench.redirect(own_address(str(fields.get("back", "")), "/"))
        path, age = self.service.settings.root_path or "/", 365 * 86400 if theme in THEMES else 0
        chosen = theme if theme in THEMES else ""
        response.headers["set-cookie"] = f"theme={chosen}; Path={path}; HttpOnly; SameSite=Strict; Max-Age={age}"
        return response

    async def status(self, request: Request) -> Response:
        """The line that pages keep up to date; who has a text to label before them keeps it."""
        who: Who = request.scope["tally.who"]
        if who.may_change:
            self.service.claims.renew(request.query_params.get("tab", ""))
        return await self.bench.page(request, "status")


def next_things(
    totals: dict[str, int], counts: dict[str, int], model: bool, doubtful: int, conflicts: int, spellings: int
) -> list[tuple[str, str, str, str]]:
    """The three things that are worth most now: icon, what, why, where."""
    rare = min(counts, key=lambda name: counts[name], default="")
    waiting = totals["waiting"]
    found: list[tuple[Any, ...]] = [
        (not totals["texts"], "data", "Bring in texts", "A file or pasted lines, with labels or without.", "/data"),
        (
            spellings,
            "data",
            "Join labels that are one",
            f"{spellings} labels are written in several ways.",
            "/data#classes",
        ),
        (
            len(counts) < 2 and waiting,
            "label",
            "Label the first texts",
            "A model is there as soon as two classes have an example.",
            "/label",
        ),
        (
            doubtful,
            "check",
            f"Check {doubtful}{'+' if doubtful >= 200 else ''} likely label errors",
            "Models that had not seen these texts are sure of another class.",
            "/data#doubtful",
        ),
        (
            model and waiting and counts.get(rare, _FEW) < _FEW,
            "label",
            f"Find more examples of {rare!r}",
            f"It has {counts.get(rare, 0)}: a class needs some {_FEW} to be told apart well.",
            "/label",
        ),
        (
            model and waiting,
            "label",
            f"Label {min(waiting, _A_SITTING)} more texts",
            "The ones that the model is least sure of teach it most.",
            "/label",
        ),
        (
            conflicts,
            "data",
            "Settle conflicts",
            f"{conflicts} texts have two labels: no model gets both right.",
            "/data#conflicts",
        ),
        (model, "file", "Classify a file", "Get your whole file back with predictions beside each row.", "/file"),
        (model, "model", "Look at what the model confuses", "Each cell opens the texts behind it.", "/model"),
    ]
    return [(icon, what, why, where) for wanted, icon, what, why, where in found if wanted][:3]
