"""Data: what was read, what looks wrong with it, labels and model as files."""

import asyncio
import csv
import io
import json
import secrets
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import FileResponse, Response, StreamingResponse

from tallywise._private_files import private_file, private_folder
from tallywise.serve import queries
from tallywise.serve.answers import ServiceError
from tallywise.serve.pages.workbench import Page, Route
from tallywise.serve.rendering import excerpt

_MOST_UPLOADS, _UPLOAD_FIELDS = 2, 3  # at a time; fields of a form beside the file, each of which is held in memory
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # what begins a formula, in full width too
_IGNORED = " \t\r\n\x00"  # what programs skip in front of one
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt", ".eml", ".mbox")


class DataPage(Page):
    """The texts as a collection."""

    _uploads = 0  # under way

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/data", self.show_data),
            ("POST", "/data/upload", self.upload),
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

        found: dict[str, Any] = {
            "sources": await self.service.overview(queries.sources),
            "repeats": await self.service.overview(queries.repeat_count),
            "conflicts": await self.service.overview(queries.conflicts),
            "counts": await self.service.overview(queries.label_counts),
        }
        return await self.bench.page(request, "data", **found, **await self.service.read(look))

    async def upload(self, request: Request) -> Response:
        """A file, or pasted lines, into the store."""
        if self._uploads >= _MOST_UPLOADS:
            raise ServiceError(429, f"{_MOST_UPLOADS} files are being sent already. Try again in a moment.")
        self._uploads += 1
        try:
            return await self._take_upload(request)
        finally:
            self._uploads -= 1

    async def _take_upload(self, request: Request) -> Response:
        from tallywise.serve.run import take

        service = self.service
        who, fields = await self.bench.form(request, _UPLOAD_FIELDS)
        given = fields.get("file")
        folder = service.store.folder / "uploads"
        private_folder(folder)
        if given is not None and not isinstance(given, str) and given.filename:
            name = excerpt(Path(given.filename).name, 80)
            suffix = Path(given.filename).suffix.lower()
            path = folder / (secrets.token_hex(8) + (suffix if suffix in _SUFFIXES else ""))
            private_file(path)
            with path.open("wb") as out:
                while chunk := await given.read(1 << 20):
                    await service.work(out.write, chunk)
        else:
            pasted = str(fields.get("pasted", ""))
            if not pasted.strip():
                raise ServiceError(422, "Choose a file, or paste texts, one a line.")
            name, path = "pasted", folder / f"{secrets.token_hex(8)}.lines"
            private_file(path)
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
        return self.bench.redirect("/data", note=f"{name}: being read" if not task.done() else f"{name}: read")

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
