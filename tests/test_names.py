"""Every public name is on the page of names, says what it is, and shows it at work."""

import inspect

import pytest

from tools import names

PUBLIC = names.public()


def test_the_page_of_names_is_up_to_date():
    assert names.page() == names.PAGE.read_text()


def test_no_entry_is_of_a_name_that_is_gone():
    assert {name.rsplit(".", 1)[1] for name in PUBLIC} == set(names.ENTRIES)


def _shows_itself(value):
    """What a user makes or calls; errors, and the answers of functions, are met where they come from."""
    if not inspect.isclass(value):
        return True
    answer = issubclass(value, tuple) or hasattr(value, "__dataclass_fields__")
    return not answer and not issubclass(value, Exception)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_say_what_they_are_and_show_it(name):
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert text
    assert not _shows_itself(PUBLIC[name]) or ">>>" in text
