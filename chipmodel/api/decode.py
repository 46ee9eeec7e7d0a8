"""A language model by the length of its context: a prompt, and a token, planned at each length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, Unpack

from chipmodel.answers.decode import ContextLength, DecodeAnswer, TimedRun, TokenRun
from chipmodel.answers.result import Result
from chipmodel.api.answer import Telling, ToldAnswer, same_columns
from chipmodel.api.arguments import checked
from chipmodel.api.effort import observing
from chipmodel.api.settings import PlanOptions, PlanSettings
from chipmodel.api.simulation import simulate
from chipmodel.api.target import ChipSource, chip_of_one_core
from chipmodel.api.workload import WorkloadSource, load
from chipmodel.errors import BadInput, DoesNotFit, UnknownSize
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip import Chip
from chipmodel.model.fit import too_many_weights
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import DEFAULT_CHIP
from chipmodel.records import dataclass
from chipmodel.rewrites.states import with_states
from chipmodel.rewrites.steady_state import steady
from chipmodel.terminal.progress import stage
from reports.decode import headline, page
from reports.run.steady_state import steady_of
from workloads.zoo import SCHEME

TOKENS = 3
"""Tokens in a row at each length: the first one loads all weights, the last one is like all that follow. """
MAX_CONTEXT = 1 << 20
"""Assumed: more than any model at the edge has."""

AtLength: TypeAlias = Callable[[int, int], Program]
"""Gives the program of some tokens after some earlier ones."""


@dataclass(frozen=True, slots=True)
class SizeNames:
    """What a model calls its sizes: those of an ONNX file as Hugging Face's Optimum exports it by default."""

    tokens: str = "sequence_length"
    past: str = "past_sequence_length"
    total: str = ""
    """The sum of both, where the file does not write it as one."""

    def sizes(self, tokens: int, past: int) -> dict[str, int]:
        """Each size by its name."""
        total = {self.total: tokens + past} if self.total else {}
        return {self.tokens: tokens, self.past: past, **total}

    def of(self, model: str, tokens: int, past: int) -> tuple[str, dict[str, int]]:
        """What to load, with which sizes: those of a built-in network are options of its name."""
        if not model.startswith(SCHEME):
            return model, self.sizes(tokens, past)
        return f"{model}{'&' if '?' in model else '?'}tokens={tokens}&past={past}", {}


@dataclass(frozen=True, slots=True, repr=False)
class Decode(ToldAnswer):
    """A language model by the length of its context. ``answer`` has every detail."""

    answer: DecodeAnswer
    telling = Telling(headline, page)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A length a row."""
        return same_columns(self.to_dict()["lengths"], ("resident",))


@checked
def decode(
    model: WorkloadSource | AtLength,
    chip: ChipSource = DEFAULT_CHIP,
    *,
    context: str | Sequence[int] = "1..256",
    dtype: str | None = None,
    tokens_size: str = "sequence_length",
    past_size: str = "past_sequence_length",
    total_size: str = "",
    **options: Unpack[PlanOptions],
) -> Decode:
    """Return the cycles of a prompt and of a token of a language model at each length of its context.

    At each length the model is loaded with its sizes and planned and simulated by itself, as ``simulate``
    does: a prompt of that length at once, and three tokens in a row, each the last of so many. The last of
    them is the steady state: some weights stay in SharedMemory, beside the keys and values of earlier tokens.

    Parameters
    ----------
    model
        An ONNX file with a key-value cache, ``zoo:stories``, whatever else ``load`` takes and has these
        sizes, or a function that gives the program of some tokens after some earlier ones.
    chip
        A preset's name, the path of a chip file, a mapping with its keys, or a ``Chip``.
    context
        Lengths in tokens; ``"1..256"`` is both ends and the powers of two between them.
    dtype
        The type in which tensors and weights are deployed, such as ``"int8"``.
    tokens_size, past_size, total_size
        What an ONNX file calls the number of new tokens, of those in the cache, and of both.
    **options
        Those of ``PlanOptions``.

    Raises
    ------
    BadInput
        If the model or chip cannot be read, the chip has several cores, or the model has no such sizes or no
        cache.

    Examples
    --------
    >>> found = decode("zoo:stories?variant=260K", "stm32n6", context=[64], streamer="sync", cascade="off")
    >>> [length.token.cache for length in found.answer.lengths]
    [20160]
    """
    lengths, names = contexts(context), SizeNames(tokens_size, past_size, total_size)
    settings = PlanSettings(**options)
    options = {**options, "time_limit": settings.limit}

    def loaded(tokens: int, past: int) -> Program:
        if not isinstance(model, str):
            return load(model, dtype=dtype, shapes=names.sizes(tokens, past))  # type: ignore[arg-type]
        source, sizes = names.of(model, tokens, past)
        return load(source, dtype=dtype, shapes=sizes)

    at = _of_a_language_model(model if callable(model) else loaded, names)
    with observing(settings.progress):
        target = chip_of_one_core(chip, "decode")
        by_length: list[ContextLength] = []
        with stage(f"lengths of the context on {target.name}") as say:
            for number, length in enumerate(lengths):
                say(f"{length} tokens, {number + 1} of {len(lengths)}")
                by_length.append(_at_length(at, target, length, options))
    whole = at(1, max(lengths[-1] - 1, 0))
    too_many = f"the weights alone take {whole.weight_bytes:,} B, more than their memory has"
    answer = DecodeAnswer(
        whole.name,
        target.name,
        float(target.core_mhz),
        target.shared_memory.bytes,
        whole.weight_bytes,
        tuple(by_length),
        whole.notes,
        too_many if too_many_weights(whole, target) else "",
    )
    return Decode(answer)


def _of_a_language_model(at: AtLength, names: SizeNames) -> AtLength:
    """``at``, whose complaint of sizes that the user did not write says what is missing."""

    def sized(tokens: int, past: int) -> Program:
        try:
            return at(tokens, past)
        except UnknownSize as error:
            sizes = f"its sizes named {names.tokens} and {names.past}, or by --tokens-size and --past-size"
            raise BadInput(
                f"no language model with a key-value cache: {error.what}",
                where=error.where,
                hint=f"decode takes an ONNX file with {sizes}, or zoo:stories; 'simulate' takes any network",
            ) from error

    return sized


def contexts(given: str | Sequence[int]) -> tuple[int, ...]:
    """The lengths that ``given`` names, in order. Raises BadInput.

    >>> contexts("3..20")
    (3, 4, 8, 16, 20)
    """
    if isinstance(given, str):
        first, dots, last = given.partition("..")
        texts = [first, last] if dots else given.split(",")
        if not all(text.strip().isdecimal() and len(text) < 9 for text in texts):
            raise _no_context(given)
        numbers = [int(text) for text in texts]
        if dots:
            powers = (1 << power for power in range(MAX_CONTEXT.bit_length()))
            numbers += [each for each in powers if numbers[0] < each < numbers[1]]
            if numbers[0] > numbers[1]:
                raise _no_context(given)
    else:
        numbers = list(given)
    if not numbers or not all(1 <= number <= MAX_CONTEXT for number in numbers):
        raise _no_context(given)
    return tuple(sorted({*numbers}))


def _no_context(given: object) -> BadInput:
    what = f"context {shown(str(given))} names no lengths from 1 to {MAX_CONTEXT:,} tokens"
    return BadInput(what, hint="write both ends, or a list: 1..256 or 16,64,256")


def _at_length(at: AtLength, chip: Chip, length: int, options: PlanOptions) -> ContextLength:
    prompt = _result(at(length, 0), chip, options)
    return ContextLength(
        length, _timed(prompt) if prompt else None, _token(at, chip, length, options) if length > 1 else None
    )


def _token(at: AtLength, chip: Chip, length: int, options: PlanOptions) -> TokenRun | None:
    program = with_states(at(1, length - 1), ())
    if not program.states:
        what = f"{program.name} has no key-value cache that an output continues"
        raise BadInput(what, hint="its inputs past_* must have outputs present_*, as Optimum exports them")
    result = _result(steady(program, TOKENS), chip, options)
    stream = result and steady_of(result)
    if not result or not stream:
        return None
    moved = {transfer.part.name for transfer in result.schedule.transfers if not transfer.part.weights}
    caches = {name: program.tensors[name].bytes for name in program.states}
    off_chip = (name for name, last in program.states.items() if {name, last} & moved)
    loads = stream.moved.get("load weights", 0)
    return TokenRun(
        TOKENS,
        _timed(result),
        stream.first_cycles,
        stream.further_cycles,
        _milliseconds(result, stream.further_cycles),
        stream.per_second,
        result.solved.peak,
        stream.resident,
        sum(caches.values()),
        sum(caches[name] for name in off_chip),
        loads,
        sum(stream.moved.values()) - loads,
    )


def _timed(result: Result) -> TimedRun:
    return TimedRun(result.trace.cycles, result.bound.cycles, _milliseconds(result, result.trace.cycles))


def _milliseconds(result: Result, cycles: int) -> float:
    return cycles / (float(result.chip.core_mhz) * 1e3)


def _result(program: Program, chip: Chip, options: PlanOptions) -> Result | None:
    """The simulated plan; None where the program does not fit."""
    if too_many_weights(program, chip):
        return None
    try:
        result = simulate(program, chip, **options).result
    except DoesNotFit:
        return None
    return result if result.fits else None
