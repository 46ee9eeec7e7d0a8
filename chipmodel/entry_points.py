"""Plug-ins: what other installed packages add, found by their entry points and imported when first used.

A package names its plug-ins in its metadata, in one group for each kind (``GROUPS``). Reading them takes some
milliseconds and imports nothing, so it is done only where a name is not a built-in one, or where all names
are listed. Whatever goes wrong in a plug-in is raised as ``PluginFault``, which names it and its package.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeVar, cast, get_args

from chipmodel.errors import ChipmodelError, PluginFault, PluginIgnored, warn_caller
from chipmodel.records import dataclass

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PluginKind = Literal["packer", "streamer", "NPU model", "importer"]
GROUPS: Mapping[PluginKind, str] = {
    "packer": "chipmodel.packers",
    "streamer": "chipmodel.streamers",
    "NPU model": "chipmodel.npu_models",
    "importer": "chipmodel.importers",
}
"""The groups of entry points, by kind of plug-in. An importer's name is the suffix of its files, without the
dot, in lower case: as suffixes are compared."""
EVERY_NAME = "all"
"""Means all planners on the command line, so it can be none's name."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")

T = TypeVar("T")
Row = TypeVar("Row")


class DescribedPlugin(Protocol):
    """What every plug-in says of itself; a module, or an object with these attributes.

    A packer or streamer may also have a function ``with_setting(text)``: the planner that is meant by
    ``NAME:TEXT``, which needs no title and source. It raises ``BadInput`` for a text that means nothing.
    """

    @property
    def title(self) -> str:
        """What it does, in a line."""
        ...

    @property
    def source(self) -> str:
        """Who published the method."""
        ...


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point of an installed package."""

    kind: PluginKind
    name: str
    """What a user writes."""
    target: str
    """``module``, or ``module:attribute``."""
    package: str
    version: str
    setting: str | None = None
    """What a user writes after the name and a colon."""

    def __str__(self) -> str:
        return f"{self.kind} {self.written!r} of package {self.origin}"

    @property
    def written(self) -> str:
        """The name, with the setting where there is one: ``NAME:SETTING``."""
        return self.name if self.setting is None else f"{self.name}:{self.setting}"

    @property
    def origin(self) -> str:
        """The package and its version."""
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        """The object that the entry point names, or that its ``with_setting`` makes of the setting. Raises
        PluginFault, and BadInput for a wrong setting."""
        return _loaded(self) if self.setting is None else _configured(self)

    @property
    def takes_setting(self) -> bool:
        """Whether it has a function ``with_setting``. Raises PluginFault where it cannot be loaded."""
        return callable(getattr(self.load(), "with_setting", None))

    def call(self, function: Callable[..., T], *given: object) -> T:
        """What a function of the plug-in answers. A ``BadInput`` that it raises is about the user's input and
        stays as it is; raises PluginFault for any other exception."""
        try:
            return function(*given)
        except ChipmodelError:
            raise
        except (Exception, SystemExit) as error:
            raise self.fault(f"fails: {_described(error)}") from error

    def fault(self, what: str, hint: str = "") -> PluginFault:
        """The error that says what is wrong with the plug-in."""
        return PluginFault(f"{self} {what}", hint=hint or f"report it to the authors of {self.package}")

    def whole(self, answer: object, what: str, unit: str) -> int:
        """``answer`` as an ``int``, also of an integer of NumPy. Raises PluginFault where it is none, with
        ``what`` the plug-in does and the answer, which is no ``unit``."""
        try:
            return index(cast("SupportsIndex", answer))
        except TypeError:
            raise self.fault(f"{what} {answer!r}, which is not a {unit}") from None

    def text(self, attribute: str) -> str:
        """A text that the plug-in has, on one line. Raises PluginFault where it has none."""
        found = getattr(_loaded(replace(self, setting=None)), attribute, None)
        if not isinstance(found, str) or not found.strip():
            raise self.fault(f"has no text {attribute!r}", f"its authors add {attribute} = '...' to it")
        return " ".join(found.split())

    @property
    def identity(self) -> str:
        """What decides its answers: its package's version, and a hash of the sources of the package or module
        at the top of ``target``, which may be edited while the version stays."""
        digest = sha256()
        for path in _sources(self.target):
            digest.update(path.read_bytes() + b"\0")
        return f"{self.kind} {self.name} {self.origin} {digest.hexdigest()[:16]}"


def described(plugin: Plugin, function: str) -> tuple[str, str]:
    """Title and source of a plug-in that has that ``function``. Raises PluginFault where it lacks any."""
    if not callable(getattr(plugin.load(), function, None)):
        raise plugin.fault(f"has no function {function!r}")
    return plugin.text("title"), f"{plugin.text('source')}; {plugin.origin}"


def plugin_named(kind: PluginKind, name: str) -> Plugin | None:
    """The plug-in of that name, not built in; None if there is none. Raises PluginFault for several."""
    found = [each for each in _installed(tuple(sys.path)) if (each.kind, each.name) == (kind, name)]
    if not found or _unusable(found[0], ()):
        return None
    if len(found) > 1:
        packages = " and ".join(each.origin for each in found)
        raise PluginFault(f"{kind} {name!r} is in two packages: {packages}", hint="uninstall one of them")
    return found[0]


def plugin_names(kind: PluginKind, built_in: Collection[str] = ()) -> tuple[str, ...]:
    """Names of plug-ins that are no ``built_in`` ones, sorted."""
    installed = _installed(tuple(sys.path))
    return tuple(sorted({p.name for p in installed if p.kind == kind and not _unusable(p, built_in)}))


def plugin_rows(kind: PluginKind, built_in: Collection[str], make: Callable[[Plugin], Row]) -> dict[str, Row]:
    """What ``make`` makes of every plug-in of a kind, by name; a warning says why one is left out."""
    warn_of_unusable(kind, built_in)
    rows: dict[str, Row] = {}
    for name in plugin_names(kind, built_in):
        try:
            plugin = plugin_named(kind, name)
            assert plugin is not None, "it was found by its name"
            rows[name] = make(plugin)
        except PluginFault as fault:
            warn_caller(PluginIgnored(f"{fault.what}; it is ignored. Hint: {fault.hint}"))
    return rows


def warn_of_unusable(kind: PluginKind, built_in: Collection[str]) -> None:
    """Warn of every plug-in of a kind whose name cannot be used. None is imported."""
    for each in _installed(tuple(sys.path)):
        why = _unusable(each, built_in)
        if each.kind == kind and why:
            warn_caller(PluginIgnored(f"{each} is ignored: {why}"))


def _unusable(plugin: Plugin, built_in: Collection[str]) -> str:
    """Why its name cannot be used; empty where it can."""
    if plugin.name in built_in:
        hint = f"uninstall {plugin.package}, or its authors choose another name"
        return f"{plugin.name!r} is built in, and means that one. Hint: {hint}"
    if plugin.name == EVERY_NAME or not _NAME.fullmatch(plugin.name):
        return "its name must have letters, digits, '-', '_' and '+' only, and not be 'all'"
    return ""


@cache
def _installed(path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The plug-ins of all packages that are found along ``path``, which is ``sys.path``."""
    folders = [folder for folder in map(Path, path) if folder.exists()]
    texts = (file.read_bytes() for folder in folders for file in folder.glob("*-info/entry_points.txt"))
    known = all(map(Path.is_dir, folders))  # not so for a zip file
    if known and not any(group.encode() in text for text in texts for group in GROUPS.values()):
        return ()
    # Imported here because it takes 30 ms, and most installations have no plug-in.
    from importlib.metadata import distributions

    found: dict[str, list[Plugin]] = {}
    for distribution in distributions():
        try:
            # A package that is found twice is imported from where it is found first.
            text = distribution.read_text("entry_points.txt") or ""
            if any(group in text for group in GROUPS.values()):
                found.setdefault(distribution.name, list(_plugins_of(distribution)))
        except Exception as error:
            named = getattr(distribution, "_path", "a package")
            warn_caller(PluginIgnored(f"{named} has entry points that cannot be read: {error}"))
    return tuple(plugin for plugins in found.values() for plugin in plugins)


def _plugins_of(distribution: Distribution) -> Iterator[Plugin]:
    kinds: dict[str, PluginKind] = {group: kind for kind, group in GROUPS.items()}
    for entry in distribution.entry_points:
        if entry.group in kinds:
            kind = kinds[entry.group]
            name = entry.name.lower() if kind == "importer" else entry.name
            yield Plugin(kind, name, entry.value, distribution.name, distribution.version)


@cache
def _loaded(plugin: Plugin) -> Any:
    module, _, attribute = plugin.target.partition(":")
    hint = f"install what it needs, or uninstall {plugin.package}"
    try:
        found: Any = import_module(module.strip())
    except (Exception, SystemExit) as error:
        raise plugin.fault(f"cannot be imported: {_described(error)}", hint) from error
    for name in filter(None, attribute.strip().split(".")):
        if not hasattr(found, name):
            raise plugin.fault(f"is said to be {plugin.target}, where there is no {name!r}")
        found = getattr(found, name)
    return found


@cache
def _configured(plugin: Plugin) -> Any:
    """What the plug-in makes of its setting, made once for each setting."""
    bare = replace(plugin, setting=None)
    return bare.call(bare.load().with_setting, plugin.setting)


def _described(error: BaseException) -> str:
    """An exception with the last line of code that it passed, for an author to find it."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if "importlib" not in f.filename), None)
    place = f" ({last.filename}:{last.lineno})" if last else ""
    return f"{type(error).__name__}: {error}{place}"


def _sources(target: str) -> list[Path]:
    """The Python files of the package or module at the top of ``target``, sorted."""
    top = target.partition(":")[0].strip().partition(".")[0]
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    inside = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return inside or [Path(spec.origin)] if spec.origin else inside


assert set(GROUPS) == set(get_args(PluginKind))
