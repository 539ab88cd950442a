"""What all pages share: templates, sessions, forms, errors that are pages."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from tallywise.serve import queries
from tallywise.serve.access import Who, content_type
from tallywise.serve.answers import ServiceError
from tallywise.serve.application import told
from tallywise.serve.rendering import excerpt, templates
from tallywise.serve.service import Service

Route = tuple[str, str, Callable[[Request], Any]]  # method, path, handler
THEMES = ("light", "dark")


class Workbench:
    """Renders pages and takes forms."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._templates = templates()

    async def page(self, request: Request, name: str, status: int = 200, **context: Any) -> Response:
        """A page; whoever has no session yet gets one."""
        service = self.service
        who: Who = request.scope["tally.who"]
        cookie = None
        if not who.session and who.role != "nobody":
            cookie = service.guard.new_session(who.role, who.name)
            who = who._replace(session=cookie.split(".")[3])
        known = who.role != "nobody"  # who has not logged in is told nothing of the store
        theme = request.cookies.get("theme", "")
        step = request.query_params.get("step", "")
        body = self._templates.get_template(f"{name}.html").render(
            page=name,
            root=service.settings.root_path,
            who=who,
            token=service.guard.form_token(who),
            live=service.models.live if known else None,
            totals=await service.overview(queries.totals) if known else {},
            palette={one.name: one.colour for one in await service.overview(queries.classes)} if known else {},
            progress=service.trainer.progress if known else None,
            reading=service.reading if known else None,
            state=self.state() if known else "",
            needs_login=bool(service.settings.token),
            theme=theme if theme in THEMES else "",
            note=request.query_params.get("note", "")[:300],
            step=int(step) if step.isdecimal() and len(step) < 19 and who.may_change else 0,
            here=str(request.url.path)[len(service.settings.root_path) :]
            + (f"?{request.url.query}" if request.url.query else ""),
            **context,
        )
        response = HTMLResponse(body, status)
        response.headers["cache-control"] = "no-store"
        if cookie is not None:
            response.headers["set-cookie"] = service.guard.set_cookie(cookie)
        return response

    def state(self) -> str:
        """What pages that show models, topics or files were made from; another one means that they are old."""
        service = self.service
        topics = service.store.folder / "topics.json"
        found = topics.stat().st_mtime_ns if topics.exists() else 0
        live = service.models.live
        parts = (live.version if live else 0, service.trainer.fits, found, int(service.reading is None))
        return "-".join(map(str, parts))

    async def form(self, request: Request, fields: int = 2000) -> tuple[Who, Any]:
        """The fields of a form that one of our pages made."""
        who: Who = request.scope["tally.who"]
        if content_type(request.scope) not in ("application/x-www-form-urlencoded", "multipart/form-data"):
            raise ServiceError(415, "A form is wanted here.")
        found = await request.form(max_files=1, max_fields=fields, max_part_size=self.service.settings.max_body)
        self.service.guard.check_form(who, str(found.get("token", "")))
        return who, found

    def redirect(self, path: str, **query: str) -> Response:
        """On to another page."""
        joined = "&" if "?" in path else "?"
        target = f"{path}{joined}{urlencode(query)}" if query else path
        return RedirectResponse(f"{self.service.settings.root_path}{target}", 303)

    async def classes(self) -> list[queries.Class]:
        """All classes by their places, and behind them those that only the model knows."""
        known = await self.service.overview(queries.classes)
        live = self.service.models.live
        names, last = {one.name for one in known}, max((one.place for one in known), default=0)
        further = [name for name in (live.names if live else []) if name not in names]
        return [
            *known,
            *(queries.Class(name, last + k, (last + k - 1) % 12 + 1, "") for k, name in enumerate(further, 1)),
        ]

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


class Page:
    """A page of the workbench; who derives from it gives `routes`."""

    def __init__(self, bench: Workbench) -> None:
        self.bench, self.service = bench, bench.service

    def routes(self) -> list[Route]:
        """What it answers."""
        raise NotImplementedError


def number_of(value: Any, default: int | None = None) -> int:
    """A whole number of a form or an address."""
    text = str(value or "")
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    if default is None:
        raise ServiceError(422, f"A number is wanted. Got {excerpt(text, 40)!r}.")
    return default


def own_address(back: str, otherwise: str) -> str:
    """Where to go back to: one of our own pages, without the message that it showed."""
    path, _, query = back.partition("?")
    if not path.startswith("/") or path.startswith(("//", "/\\")):
        return otherwise
    kept = "&".join(part for part in query.split("&") if part and not part.startswith(("note=", "step=")))
    return f"{path}?{kept}" if kept else path
