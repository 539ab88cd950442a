"""The command `tally` in this process, for tests."""

import contextlib
import io

import pytest

from tallywise.cli import main


def tally(*arguments, stdin=""):
    """The command, in this process: exit code, output, errors."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", given)
        with pytest.raises(SystemExit) as left:
            main([*map(str, arguments)])
    return left.value.code, *(stream.buffer.getvalue().decode() for stream in (out, err))
