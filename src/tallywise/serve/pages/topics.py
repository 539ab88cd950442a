"""Topics: a map, words, texts, shares over time."""

import json
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import Response

from tallywise.serve.answers import ServiceError, encode
from tallywise.serve.pages.workbench import Page, Route, number_of


class TopicsPage(Page):
    """Topics of the stored texts."""

    def routes(self) -> list[Route]:
        """What it answers."""
        return [
            ("GET", "/topics", self.show_topics),
            ("POST", "/topics", self.take_topics),
            ("GET", "/topics/export", self.export_topics),
        ]

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
        return await self.bench.page(request, "topics", found=found)

    async def take_topics(self, request: Request) -> Response:
        """Find topics anew."""
        _, fields = await self.bench.form(request)
        wanted = number_of(fields.get("n_topics"))
        if not 2 <= wanted <= 100:
            raise ServiceError(422, "Ask for 2 to 100 topics.")
        order = {"do": "topics", "n_topics": wanted, "out": str(self._topics_file)}
        self.service.spawn(self.service.trainer.order_alone(order))
        return self.bench.redirect("/topics", note=f"looking for {wanted} topics")

    async def export_topics(self, request: Request) -> Response:
        """Topics as JSON."""
        if not self._topics_file.exists():
            raise ServiceError(404, "No topics have been found yet.")
        found = json.loads(await self.service.work(self._topics_file.read_text, "utf-8"))
        found.pop("pictures", None)
        headers = {"content-disposition": 'attachment; filename="topics.json"'}
        return Response(encode(found), media_type="application/json", headers=headers)


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
