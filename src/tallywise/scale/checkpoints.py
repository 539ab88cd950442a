"""What a job has finished, in a folder, for a driver that is started again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tallywise import __version__
from tallywise.errors import ModelFileError
from tallywise.models import model_file
from tallywise.reading import InputError


class Checkpoints:
    """Named pieces of finished work of one job; none are kept where no folder is given.

    A folder that holds the work of another job (other shards, other options) is not read: its pieces are replaced.
    Files of the same names that are no such work, or damaged, are an error: they are neither read nor replaced.
    Nothing here is unpickled.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, job: str, name: str = "") -> None:
        self.folder = None if folder is None else Path(folder)
        self.job, self.name = job, name
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def named(self, name: str) -> Checkpoints:
        """Pieces of one part of the job."""
        return Checkpoints(self.folder, self.job, name)

    def _path(self, piece: str) -> Path:
        assert self.folder is not None
        readable = "".join(c if c.isalnum() else "-" for c in f"{self.name} {piece}".strip())
        return self.folder / f"{readable}.part"

    def save(self, piece: str, data: bytes, meta: dict[str, Any]) -> None:
        """Write a piece; it is there whole or not at all."""
        if self.folder is not None:
            array = np.frombuffer(data, dtype=np.uint8)
            model_file.write(
                self._path(piece), {"kind": "checkpoint", "job": self.job, **meta}, {"data": array}, pack=False
            )

    def load(self, piece: str) -> tuple[bytes, dict[str, Any]] | None:
        """A piece, if this job has written it."""
        if self.folder is None:
            return None
        try:
            meta, arrays = model_file.read(self._path(piece))
        except FileNotFoundError:
            return None
        except ModelFileError as error:
            msg = f"{error}. Remove it, or keep finished work in another folder."
            raise InputError(msg) from None
        if meta.get("kind") != "checkpoint" or "data" not in arrays:
            msg = f"{self._path(piece)} is no finished work of a job: keep that in another folder."
            raise InputError(msg)
        if meta.get("job") != self.job:
            return None
        return bytes(arrays["data"]), json.loads(json.dumps(meta))


def fingerprint(shards: Sequence[str], how: Any, sizes: Sequence[int]) -> str:
    """A job's name for its checkpoints: other shards, sizes, times of writing, options or versions are another job."""
    written = [os.stat(shard).st_mtime_ns if os.path.exists(shard) else 0 for shard in shards]
    described = json.dumps([__version__, list(shards), dataclasses.asdict(how), list(sizes), written], default=str)
    return hashlib.blake2b(described.encode(), digest_size=16).hexdigest()
