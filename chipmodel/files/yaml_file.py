"""Read YAML files; every value knows its line and column, and every mistake is a ``BadInput``.

Scalars follow the YAML 1.2 core schema (https://yaml.org/spec/1.2.2/, section 10.3.2): only ``true`` and
``false`` are booleans, so ``no``, ``on``, ``1:30`` and ``1_000`` are texts. Octal numbers, infinities and
NaN are texts too: no size, clock or count is written so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import yaml

from chipmodel.errors import BadInput, Place
from chipmodel.files.text_file import place_of
from chipmodel.files.yaml_tree import Document, Tree

if TYPE_CHECKING:
    from pydantic import BaseModel

    M = TypeVar("M", bound=BaseModel)

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARK = "\ufeff"
"""A byte order mark, which is refused inside the text like what is not printable."""


def read_yaml(text: str, file: str) -> Document:
    """The one document in ``text``; ``file`` is its name in messages.

    Raises ``BadInput``, with line and column, for anything that is not YAML or not supported: duplicate
    keys, keys that are not texts, tags, merge keys, recursive aliases, several documents, control
    characters, and more levels or values than ``chipmodel.files.yaml_tree`` allows.
    """
    text = text.removeprefix(_MARK)
    # The pattern is PyYAML's own, YAML 1.2.2's production c-printable: another one takes 20 ms to compile.
    if bad := yaml.SafeLoader.NON_PRINTABLE.search(text.replace(_MARK, "\0")):
        _refuse_character(text, bad.start(), file)
    try:
        root = Tree(file, _events(text)).document()
    except yaml.YAMLError as error:
        from chipmodel.files.yaml_errors import syntax_mistake

        raise syntax_mistake(error, text, file) from None
    if root is None or (root[0].data is None and not root[0].text):
        raise BadInput("the file is empty", where=Place(file, 1, 1), hint="write the description into it")
    return Document(file, root[0].data, *root)


def validate(model: type[M], document: Document) -> M:
    """``document`` as a pydantic ``model``.

    Raises ``BadInput`` with one line for each mistake, the most specific first, at the place of the first.
    The model decides about coercion: a strict one refuses a text for a number.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        from chipmodel.files.yaml_errors import model_mistakes

        raise model_mistakes(error, document) from None


def _events(text: str) -> Iterator[Any]:
    # PyYAML's stub leaves the type of its stream open.
    parse: Any = cast("Any", yaml).parse
    return cast("Iterator[Any]", parse(text, Loader=_LOADER))


def _refuse_character(text: str, index: int, file: str) -> NoReturn:
    what = f"the control character U+{ord(text[index]):04X} cannot stand in a YAML file"
    hint = "check that this is a text file, and remove the character"
    raise BadInput(what, where=place_of(text, index, file), hint=hint)
