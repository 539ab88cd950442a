"""Files that were sent to be classified: each a job on a thread, its result kept for a day at most."""

import secrets
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tallywise._private_files import private_folder
from tallywise._stopping import check
from tallywise.errors import TallywiseError
from tallywise.models.whole_files import FileAnswers, predict_file
from tallywise.serve import importing

_MOST, _SECONDS = 20, 86400.0
KINDS = ("csv", "xlsx", "parquet")


@dataclass
class FileJob:
    """A file, and how far its classification is."""

    key: str
    name: str
    kind: str
    version: str
    rows: int = 0
    answers: FileAnswers | None = None
    problem: str = ""
    begun: float = field(default_factory=time.time)

    @property
    def download(self) -> str:
        """What the result is called."""
        return f"{Path(self.name).stem}_with_predictions.{self.kind}"


class FileJobs:
    """The jobs of a service; results lie in a folder that is emptied when it starts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        private_folder(folder)
        self._jobs: dict[str, FileJob] = {}
        self.done = 0

    def begin(self, name: str, kind: str, version: str) -> FileJob:
        """A new job; the oldest ones give way."""
        for key in list(self._jobs)[: max(len(self._jobs) - _MOST + 1, 0)]:
            self._drop(key)
        for key in [key for key, job in self._jobs.items() if time.time() - job.begun > _SECONDS]:
            self._drop(key)
        job = FileJob(secrets.token_urlsafe(16), name, kind, version)
        self._jobs[job.key] = job
        return job

    def get(self, key: str) -> FileJob | None:
        """A job by its key, which nobody can guess."""
        return self._jobs.get(key)

    def path(self, job: FileJob) -> Path:
        """Where its result is."""
        return self._folder / f"{job.key}.{job.kind}"

    def run(self, job: FileJob, model: Any, path: str) -> None:
        """Classify the file, which is taken away afterwards; what goes wrong is kept in the job."""

        def progress(rows: int) -> None:
            job.rows = rows
            check()

        try:
            job.answers = predict_file(model, path, self.path(job), kind=f".{job.kind}", progress=progress)
        except (TallywiseError, OSError, ValueError) as error:
            job.problem = str(error).replace(path, job.name)
        finally:
            self.done += 1
            importing.remove(path)

    def _drop(self, key: str) -> None:
        self.path(self._jobs.pop(key)).unlink(missing_ok=True)
