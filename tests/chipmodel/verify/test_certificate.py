"""Certificates: true ones verify, false ones are refused, none claims too much, in JSON they are the same."""

import json
from dataclasses import replace

import pytest

from chipmodel.errors import BadInput
from chipmodel.files.json_file import read_json
from chipmodel.geometry.interval import Interval
from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    LiveSet,
    Regions,
    Searched,
    Tallest,
    as_record,
    excludes,
    rests_on,
)
from chipmodel.model.plan import Buffer, Memory, Problem
from chipmodel.verify.certificate import verify_certificate
from chipmodel.verify.packing_answer import CERTIFICATES
from solvers.core.bounds_certified import best_bound
from tests.solvers.random_problems import random_problem
from tests.support.buffers import buffer
from tests.support.mistakes import mistakes


def pinned(name: str, size: int, offset: int, start: int = 0, stop: int = 9) -> Buffer:
    return Buffer(name, size, (Interval(start, stop),), pinned=offset)


THREE = Problem((buffer("a", 10, 0, 2), buffer("b", 30, 1, 3), buffer("c", 20, 2, 5)))
ALIGNED = Problem((buffer("a", 10, alignment=16), buffer("b", 20, alignment=16), buffer("c", 1)))
PINNED = Problem((pinned("p", 4, 6), buffer("a", 5), buffer("b", 5)))
BANKS = Problem(
    (buffer("a", 6), buffer("b", 6), buffer("c", 4)), None, (Memory("x", 0, 8), Memory("y", 8, 16))
)
CLASH = Problem((pinned("p", 4, 6), pinned("q", 4, 8)))
CHAIN = Problem(
    (buffer("a", 4, 0, 2), buffer("b", 4, 3, 4), buffer("c", 4, 0, 2)), colocated=(("a", "b"), ("b", "c"))
)


@pytest.mark.parametrize(
    ("problem", "certificate"),
    [
        (THREE, LiveSet(50, 2, ("b", "c"))),
        (ALIGNED, LiveSet(36, 0, ("a", "b"), 16)),  # 16 whole units of a, then all 20 of b
        (PINNED, Regions(15, 0, ("p", "a", "b"))),  # 6 below p hold only one of the two: 10 + 5
        (BANKS, Regions(14, 0, ("a", "b"))),
        (BANKS, Regions(None, 0, ("a", "b", "c"))),
        (CLASH, Contradiction(("p", "q"))),
        (CHAIN, Contradiction(("a", "b", "c"))),
        (PINNED, Tallest(10, "p")),
        (Problem((replace(pinned("p", 4, 6), alignment=4),)), Tallest(None, "p")),
        (THREE, Searched(51, "some solver", 7, "everything")),
    ],
)
def test_a_true_claim_verifies_and_a_larger_one_is_refused(
    problem: Problem, certificate: Certificate
) -> None:
    assert verify_certificate(problem, certificate) == ()
    if certificate.bytes is not None and not isinstance(certificate, Searched):
        assert verify_certificate(problem, replace(certificate, bytes=certificate.bytes + 1))
    if not isinstance(certificate, Searched | Contradiction) and certificate.bytes is not None:
        assert excludes(certificate, certificate.bytes - 1)
        assert not excludes(certificate, certificate.bytes)


@pytest.mark.parametrize(
    ("problem", "certificate", "fault"),
    [
        (THREE, LiveSet(40, 2, ("b", "x")), "the problem has no buffer 'x'"),
        (THREE, LiveSet(60, 2, ("b", "b")), "a buffer is named twice"),
        (THREE, LiveSet(40, 2, ("a", "b")), "buffer 'a' is not alive at 2"),
        (THREE, LiveSet(60, 2, ("b", "c"), 64), "buffer 'b' is not aligned to 64"),
        (THREE, LiveSet(60, 2, ("b", "c"), 0), "its unit is 0"),
        (CHAIN, LiveSet(8, 0, ("a", "b")), "buffer 'b' is not alive at 0"),
        (THREE, Regions(60, 2, ("b", "c")), "it claims 60 bytes, but proves only 50 bytes"),
        (
            THREE,
            Regions(None, 2, ("b", "c")),
            "it claims that there is no plan at all, but proves only 50 bytes",
        ),
        (THREE, Tallest(31, "b"), "it claims 31 bytes, but proves only 30 bytes"),
        (THREE, Tallest(None, "b"), "it claims that there is no plan at all, but proves only 30 bytes"),
        (THREE, Contradiction(("a",)), "it names fewer than two buffers"),
        (
            THREE,
            Contradiction(("a", "b")),
            "buffers 'a' and 'b' are not colocated, and their pins do not overlap",
        ),
        (CHAIN, Contradiction(("a", "b")), "buffers 'a' and 'b' may have the same offset"),
        (THREE, Searched(51, "", 7, "everything"), "it does not name its solver and what that has searched"),
        (THREE, Searched(51, "some solver", -7, "everything"), "its nodes or bytes are negative"),
    ],
)
def test_the_fault_of_a_false_certificate_is_described(
    problem: Problem, certificate: Certificate, fault: str
) -> None:
    assert verify_certificate(problem, certificate) == (fault,)


def test_colocated_buffers_do_not_add_up() -> None:
    problem = replace(THREE, colocated=(("b", "c"),))
    (fault,) = verify_certificate(problem, LiveSet(50, 2, ("b", "c")))
    assert fault == "buffers 'b' and 'c' are colocated and may share bytes"
    assert best_bound(problem).bytes == 40


def test_memories_that_overlap_prove_nothing() -> None:
    problem = replace(BANKS, memories=(Memory("x", 0, 8), Memory("y", 4, 16)))
    assert verify_certificate(problem, Regions(14, 0, ("a", "b"))) == ("the problem's memories overlap",)


def read(record: object) -> Certificate:
    found: Certificate = CERTIFICATES.read(read_json(json.dumps(record), "c.json", "look again"))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_a_certificate_survives_json(seed: int) -> None:
    problem = random_problem(seed)
    certificate = best_bound(problem)
    assert read(as_record(certificate)) == certificate
    assert rests_on(certificate)


@pytest.mark.parametrize(("record", "message"), mistakes("certificate"))
def test_a_malformed_certificate_is_refused(record: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(json.loads(record))
    assert message in str(refused.value)
    assert str(refused.value).endswith("hint: look again")
