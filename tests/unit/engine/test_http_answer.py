"""What is taken for an HTTP answer of OPA's, and where it ends, however its bytes come."""

from __future__ import annotations

import pytest

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.http_answer import AnswerReader, MalformedAnswerError
from ironcurtain.engine.rest_api import MAX_ANSWER

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "a length": (OK + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", 200, b"{}"),
    "an empty body": (OK + b"Content-Length: 0\r\n\r\n", 200, b""),
    "chunks": (CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", 200, b"{}"),
    "a long chunk": (CHUNKED + b"1F4\r\n" + b"x" * 500 + b"\r\n0\r\n\r\n", 200, b"x" * 500),
    "the mark of the last chunk in a chunk": (
        CHUNKED + b"7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
        200,
        b"\r\n0\r\n\r\n",
    ),
    "another status": (b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1\r\n\r\n!", 500, b"!"),
    "names in other letters": (OK + b"content-LENGTH:2\r\nX-Y:\t\r\n\r\n{}", 200, b"{}"),
}


@pytest.mark.parametrize(("answer", "status", "body"), WHOLE.values(), ids=WHOLE)
def test_an_answer_is_whole_with_its_last_byte_and_not_before(
    answer: bytes, status: int, body: bytes
) -> None:
    for size in (1, 2, 3, 7, len(answer)):
        reader = AnswerReader()
        pieces = [answer[start : start + size] for start in range(0, len(answer), size)]
        assert [reader.take(piece) for piece in pieces] == [None] * (len(pieces) - 1) + [body]
        assert (reader.status, reader.is_last) == (status, True)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"ICY 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        OK + b"Content-Length: -2\r\n\r\n{}",
        OK + b"Content-Length: +2\r\n\r\n{}",
        OK + b"Content-Length: 2, 2\r\n\r\n{}",
        OK + b"Content-Length: 0x2\r\n\r\n{}",
        OK + b"Content-Length:\r\n\r\n{}",
        OK + b"Content-Length : 2\r\n\r\n{}",
        OK + b"X: y\r\n folded: z\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"X: y\nContent-Length: 2\r\n\r\n{}",
        OK + b"no field\r\nContent-Length: 2\r\n\r\n{}",
        OK + b"X: y\r\n" * 101 + b"\r\n",
        OK + b"X: " + b"y" * 70_000,
        CHUNKED + b"2;extension\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
        CHUNKED + b"2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        CHUNKED + b"00000000000000000000000000000002",
    ],
)
def test_what_two_readers_could_understand_differently_is_no_answer(answer: bytes) -> None:
    with pytest.raises(MalformedAnswerError):
        AnswerReader().take(answer)
    with pytest.raises(MalformedAnswerError):
        _take_byte_by_byte(answer)


@pytest.mark.parametrize(
    "cut",
    [b"", OK, OK + b"Content-Length: 3\r\n\r\n{}", CHUNKED, CHUNKED + b"2\r\n{}\r\n", CHUNKED + b"2\r\n{}"],
)
def test_an_answer_that_ends_too_early_is_none(cut: bytes) -> None:
    reader = AnswerReader()
    assert not cut or reader.take(cut) is None
    with pytest.raises(MalformedAnswerError):
        reader.take(b"")


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    reader = AnswerReader()
    assert reader.take(OK + b"\r\n{") is None
    assert reader.take(b"}") is None
    assert reader.take(b"") == b"{}"
    assert not reader.is_last


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 2\r\n\r\n{}{}",
        OK + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}",
        CHUNKED + b"2\r\n{}\r\n0\r\n\r\n{}",
    ],
)
def test_a_connection_is_not_used_again_that_said_more_or_is_closed(answer: bytes) -> None:
    reader = AnswerReader()
    assert reader.take(answer) == b"{}"
    assert not reader.is_last


def test_an_answer_that_is_too_long_is_refused_before_it_is_whole() -> None:
    reader = AnswerReader()
    assert reader.take(OK + b"Content-Length: 999999999999\r\n\r\n") is None
    with pytest.raises(EngineAnswerError, match="longer"):
        reader.take(bytes(MAX_ANSWER + 1))


def _take_byte_by_byte(answer: bytes) -> None:
    reader = AnswerReader()
    for number in range(len(answer)):
        assert reader.take(answer[number : number + 1]) is None
