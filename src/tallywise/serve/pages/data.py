"""Data: files brought in, what was read, what looks wrong with it, labels and model as files."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from tallywise.reading import preview
from tallywise.reading.label_spellings import spellings
from tallywise.serve import importing, queries
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.workbench import Page, Route, number_of
from tallywise.serve.rendering import excerpt
from tallywise.serve.service import Service

_MOST_UPLOADS, _UPLOAD_FIELDS = 2, 3  # at a time; fields of a form beside the file, each of which is held in memory
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # what begins a formula, in full width too
_IGNORED = " \t\r\n\x00"  # what programs skip in front of one


async def keep_file(service: Service, fields: Any) -> tuple[str, str, str]:
    """The file of a form, or its pasted lines, on the disk: its name, its path, and what identifies it."""
    given, pasted = fields.get("file"), str(fields.get("pasted", ""))
    folder = service.store.folder / "uploads"
    if given is not None and not isinstance(given, str) and given.filename:
        name = excerpt(Path(given.filename).name, 80)
        chunks = iter(lambda: given.file.read(1 << 20), b"")
    elif pasted.strip():
        name, chunks = "pasted.lines", iter([pasted.encode("utf-8", "replace")])
    else:
        raise ServiceError(422, "Choose a file, or paste texts, one per line.", field="file")
    try:
        path, stamp = await service.work(importing.uploaded, folder, name, chunks)
    except ValueError as error:
        shown = " ".join(name if part.startswith(str(folder)) else part for part in str(error).split(" "))
        raise ServiceError(422, shown, field="file") from None
    return name, path, stamp


class DataPage(Page):
    """The texts as a collection."""

    _uploads = 0  # under way

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/data", self.show_data),
            ("POST", "/data/upload", self.upload),
            ("GET", "/data/file/{number}", self.show_file),
            ("POST", "/data/file/{number}", self.take_columns),
            ("GET", "/data/labels.{kind}", self.export),
            ("GET", "/data/model", self.export_model),
        ]

    async def show_data(self, request: Request) -> Response:
        """What was read, and what looks wrong with it."""
        live = self.service.models.live

        def look(db: Any) -> dict[str, Any]:
            version = queries.version(db, live.number) if live else None
            return {
                "doubtful": queries.doubtful(db, live.number) if live else [],
                "facts": version.facts if version else {},
            }

        counts = await self.service.overview(queries.label_counts)
        found: dict[str, Any] = {
            "imports": await self.service.overview(queries.imports),
            "repeats": await self.service.overview(queries.repeat_count),
            "conflicts": await self.service.overview(queries.conflicts),
            "counts": counts,
            "classes": await self.service.overview(queries.classes),
            "spellings": spellings(counts),
        }
        return await self.bench.page(request, "data", **found, **await self.service.read(look))

    async def upload(self, request: Request) -> Response:
        """A file, whose columns are chosen next, or pasted lines."""
        if self._uploads >= _MOST_UPLOADS:
            raise ServiceError(429, f"{_MOST_UPLOADS} files are being sent already. Try again in a moment.")
        self._uploads += 1
        try:
            return await self._take_upload(request)
        finally:
            self._uploads -= 1

    async def _take_upload(self, request: Request) -> Response:
        service = self.service
        who, fields = await self.bench.form(request, _UPLOAD_FIELDS)
        name, path, stamp = await keep_file(service, fields)
        known = next((one for one in await service.read(queries.imports) if one["stamp"] == stamp), None)
        pasted = name == "pasted.lines"
        if known is not None and not pasted:
            await service.work(importing.remove, path)
            if known["state"] == "looked":
                return self.bench.redirect(f"/data/file/{known['number']}")
            raise ServiceError(409, f"{name} was brought in before: {known['done']:,} texts.", field="file")
        asked = preview.Asked(format="lines" if pasted else None)
        try:
            number = await service.work(importing.enter, service.store, path, name, who.name, stamp, asked, "looked")
        except BaseException as error:
            await service.work(importing.remove, path)
            if isinstance(error, ValueError):
                raise ServiceError(422, str(error), field="file") from None
            raise
        return await self._begin(number, name) if pasted else self.bench.redirect(f"/data/file/{number}")

    async def _import(self, request: Request) -> dict[str, Any]:
        number = number_of(request.path_params["number"])
        found = next((one for one in await self.service.read(queries.imports) if one["number"] == number), None)
        if found is None or not found["columns"]:
            raise ServiceError(404, f"There is no file number {number}.")
        return found

    async def show_file(self, request: Request) -> Response:
        """The first rows of a file, and its columns to choose."""
        return await self.bench.page(request, "import", file=await self._import(request), no_column=preview.NONE)

    async def take_columns(self, request: Request) -> Response:
        """Read the file with the chosen columns; one that was read before, in place of what it brought."""
        service, one = self.service, await self._import(request)
        _, fields = await self.bench.form(request)
        before = preview.Asked(*one["columns"]["asked"])
        asked = before._replace(
            **{kind: str(fields[kind]) or None for kind in ("text", "label", "date") if kind in fields}
        )
        if one["state"] == "reading":
            raise ServiceError(409, f"{one['name']} is being read. Wait until it has been.")
        await service.work(importing.read_again, service.store, one["number"], asked)
        return await self._begin(one["number"], one["name"])

    async def _begin(self, number: int, name: str) -> Response:
        task = self.service.spawn(asyncio.to_thread(importing.read, self.service, number))
        await asyncio.wait([task], timeout=1.5)  # a small file is there when the page is
        return self.bench.redirect("/data", note=f"{name}: read" if task.done() else f"{name}: being read")

    async def export(self, request: Request) -> Response:
        """Labels as CSV or JSON lines."""
        kind = request.path_params["kind"]
        if kind not in ("csv", "jsonl"):
            raise ServiceError(404, "Labels come as labels.csv or labels.jsonl.")
        raw = request.query_params.get("raw", "") in ("1", "true")
        line = _as_jsonl if kind == "jsonl" else partial(_as_csv, shown=str if raw else harmless)
        rows = self._labelled_rows(line, kind == "csv")
        headers = {"content-disposition": f'attachment; filename="labels.{kind}"'}
        media = "text/csv; charset=utf-8" if kind == "csv" else "application/x-ndjson"
        return StreamingResponse(rows, media_type=media, headers=headers)

    async def _labelled_rows(self, line: Callable[[queries.Item], str], head: bool) -> AsyncIterator[str]:
        if head:
            yield "text,label,labelled_by,source\r\n"
        before: int | None = None
        which = queries.Filter(state="labelled")
        while True:
            items, before = await self.service.read(partial(queries.page, which=which, before=before, limit=500))
            yield "".join(line(item) for item in items)
            if before is None:
                return

    async def export_model(self, request: Request) -> Response:
        """The model in place, as a file."""
        live = self.service.models.current()
        version = await self.service.work(self.service.models.get, live.number)
        path = self.service.store.models / version.file
        return FileResponse(path, media_type="application/octet-stream", filename=f"model-{live.version}.tally")


def _as_csv(item: queries.Item, shown: Callable[[str], str]) -> str:
    out = io.StringIO()
    row = (item.text, item.label or "", item.labelled_by or "", item.source)
    csv.writer(out).writerow([shown(cell) for cell in row])
    return out.getvalue()


def harmless(cell: str) -> str:
    """A cell that spreadsheets show and never run: what could be a formula gets an apostrophe in front.

    Examples
    --------
    >>> from tallywise.serve.pages.data import harmless
    >>> harmless("=cmd|' /C calc'!A0"), harmless("lunch at noon")
    ("'=cmd|' /C calc'!A0", 'lunch at noon')
    """
    return f"'{cell}" if cell.lstrip(_IGNORED)[:1] in _FORMULA or cell[:1] in _IGNORED[1:] else cell


def _as_jsonl(item: queries.Item) -> str:
    row = {"text": item.text, "label": item.label, "labelled_by": item.labelled_by, "labelled_at": item.labelled_at}
    return json.dumps({**row, "source": item.source}, ensure_ascii=False) + "\n"
