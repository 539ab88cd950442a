"""Coming and going: the first page, log in, log out, files of the pages, the status line."""

from importlib.resources import files

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve import queries
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.workbench import Page, Route
from tallywise.serve.rendering import FOLDER

_STATIC = {"page.css": "text/css", "page.js": "text/javascript", "icon.svg": "image/svg+xml"}


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
            ("GET", "/status", self.status),
        ]

    async def home(self, request: Request) -> Response:
        """The page that fits what there is."""
        totals = await self.service.overview(queries.totals)
        first = "/try" if self.service.models.live else "/label" if totals["texts"] else "/data"
        return self.bench.redirect(first)

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

    async def status(self, request: Request) -> Response:
        """The line that pages keep up to date."""
        return await self.bench.page(request, "status")
