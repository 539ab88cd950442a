"""Classify a file: the whole file back with predictions, and the rows to look at."""

from fastapi import Request
from fastapi.responses import FileResponse, Response

from tallywise.serve.answers import ServiceError
from tallywise.serve.file_jobs import KINDS
from tallywise.serve.pages.data import keep_file
from tallywise.serve.pages.workbench import Page, Route


class FilePage(Page):
    """A file in, the file with predictions out."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/file", self.show_form),
            ("POST", "/file", self.take_file),
            ("GET", "/file/{key}", self.show_job),
            ("GET", "/file/{key}/download", self.download),
        ]

    async def show_form(self, request: Request) -> Response:
        """Where to drop a file."""
        return await self.bench.page(request, "file", job=None, kinds=KINDS)

    async def take_file(self, request: Request) -> Response:
        """Begin to classify a file."""
        live = self.service.models.current()
        _, fields = await self.bench.form(request, 3)
        kind = str(fields.get("kind", KINDS[0]))
        if kind not in KINDS:
            raise ServiceError(422, f"Choose one of {', '.join(KINDS)}.", field="kind")
        name, path, _ = await keep_file(self.service, fields)
        job = self.service.jobs.begin(name, kind, live.version)
        self.service.spawn(self.service.work_long(self.service.jobs.run, job, live.model, path))
        return self.bench.redirect(f"/file/{job.key}")

    async def show_job(self, request: Request) -> Response:
        """How far it is, or what came of it."""
        job = self.service.jobs.get(request.path_params["key"])
        if job is None:
            raise ServiceError(404, "There is no such file any more: results are kept for a day. Send it again.")
        return await self.bench.page(request, "file", job=job, kinds=KINDS)

    async def download(self, request: Request) -> Response:
        """The file with predictions."""
        job = self.service.jobs.get(request.path_params["key"])
        if job is None or job.answers is None:
            raise ServiceError(404, "There is no such file any more: results are kept for a day. Send it again.")
        return FileResponse(self.service.jobs.path(job), filename=job.download, media_type="application/octet-stream")
