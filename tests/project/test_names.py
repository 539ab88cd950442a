"""Every public name is on the page of names, says what it is, and shows it at work."""

import ast
import inspect
import textwrap

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


def _assigned(cls):
    """Fitted attributes that methods of a class set, and those whose type a method or the class declares."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    properties = {name for name, value in vars(cls).items() if isinstance(value, property)}
    plain, declared = set(), {*vars(cls).get("__annotations__", {}), *properties}
    for node in ast.walk(body):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            plain |= {node.attr} if node.value.id == "self" else set()
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            declared.add(node.target.attr)
    return {name for name in plain if name.endswith("_") and not name.startswith("_")}, declared


@pytest.mark.parametrize("name", [name for name, value in PUBLIC.items() if inspect.isclass(value)])
def test_fitted_attributes_have_declared_types(name):
    own = [c for c in PUBLIC[name].__mro__ if c.__module__.startswith("tallywise") and "_native" not in c.__module__]
    found = [_assigned(c) for c in own]
    plain, declared = set().union(*(f[0] for f in found)), set().union(*(f[1] for f in found))
    assert plain - declared == set()
