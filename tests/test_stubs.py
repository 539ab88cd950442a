"""The committed stub of the native module is the one that the module asks for."""

import pytest


def test_native_stub_is_up_to_date():
    pytest.importorskip("nanobind", reason="the stub generator comes with nanobind (make dev installs it)")
    from tools import stubs

    assert stubs.STUB.read_text() == stubs.generate()
