"""The JSON reader: what it takes is JSON; what it refuses it never repeats."""

import json

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from tests.server.conftest import Running

from jumok.server.gates.bodies import PROBLEMS, has_copy, read_json
from jumok.server.gates.problems import Problem

SECRET = "GEHEIM"

BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "bad_json"),
    "blank": (b"   ", "bad_json"),
    "word": (b"GEHEIM", "bad_json"),
    "open object": (b'{"texts": ["GEHEIM"]', "bad_json"),
    "open list": (b'{"texts": ["GEHEIM"', "bad_json"),
    "open text": (b'{"texts": ["GEHEIM', "bad_json"),
    "two values": (b'{"texts": ["GEHEIM"]} {}', "bad_json"),
    "comma at the end": (b'{"texts": ["GEHEIM",]}', "bad_json"),
    "comma in an object": (b'{"texts": ["GEHEIM"],}', "bad_json"),
    "single quotes": (b"{'texts': ['GEHEIM']}", "bad_json"),
    "no quotes": (b'{texts: ["GEHEIM"]}', "bad_json"),
    "comment": (b'{"texts": ["GEHEIM"]} // x', "bad_json"),
    "hash comment": (b'# x\n{"texts": ["GEHEIM"]}', "bad_json"),
    "NaN": (b'{"texts": ["GEHEIM"], "top_p": NaN}', "bad_number"),
    "Infinity": (b'{"texts": ["GEHEIM"], "top_p": Infinity}', "bad_number"),
    "-Infinity": (b'{"texts": ["GEHEIM"], "top_p": -Infinity}', "bad_number"),
    "1e999": (b'{"texts": ["GEHEIM"], "top_p": 1e999}', "bad_number"),
    "-1e999": (b'{"texts": ["GEHEIM"], "top_p": -1e999}', "bad_number"),
    "1e999 elsewhere": (b'{"GEHEIM": [[1e999]]}', "bad_number"),
    "310 digits": (b'{"seed": ' + b"9" * 310 + b"}", "bad_number"),
    "5,000 digits": (b'{"seed": ' + b"9" * 5000 + b"}", "bad_number"),
    "leading zero": (b'{"seed": 010}', "bad_json"),
    "plus": (b'{"seed": +1}', "bad_json"),
    "hexadecimal": (b'{"seed": 0x10}', "bad_json"),
    "dot at the end": (b'{"seed": 1.}', "bad_json"),
    "doubled key": (b'{"texts": ["GEHEIM"], "texts": ["b"]}', "bad_json"),
    "doubled key inside": (b'{"a": {"GEHEIM": 1, "GEHEIM": 2}}', "bad_json"),
    "doubled key by escape": (b'{"a": 1, "\\u0061": 2}', "bad_json"),
    "high surrogate": (b'{"texts": ["GEHEIM \\ud83d"]}', "bad_utf8"),
    "low surrogate": (b'{"texts": ["\\ude00 GEHEIM"]}', "bad_utf8"),
    "surrogates the wrong way": (b'{"texts": ["\\ude00\\ud83d GEHEIM"]}', "bad_utf8"),
    "surrogate in a key": (b'{"\\ud83d": "GEHEIM"}', "bad_utf8"),
    "surrogate deep inside": (b'[[[[{"a": ["\\ud83d"]}]]]]', "bad_utf8"),
    "surrogate in UTF-8": (b'{"texts": ["\xed\xa0\xbd GEHEIM"]}', "bad_utf8"),
    "half a character": (b'{"texts": ["\xea\xb0 GEHEIM"]}', "bad_utf8"),
    "a lone byte": (b'{"texts": ["\xff GEHEIM"]}', "bad_utf8"),
    "overlong slash": (b'{"texts": ["\xc0\xaf GEHEIM"]}', "bad_utf8"),
    "above U+10FFFF": (b'{"texts": ["\xf4\x90\x80\x80 GEHEIM"]}', "bad_utf8"),
    "Latin-1": ('{"texts": ["é GEHEIM"]}'.encode("latin-1"), "bad_utf8"),
    "CP949": ('{"texts": ["나는 GEHEIM"]}'.encode("cp949"), "bad_utf8"),
    "byte-order mark": ("\ufeff" + '{"texts": ["GEHEIM"]}').encode()
    and (
        b"\xef\xbb\xbf" + b'{"texts": ["GEHEIM"]}',
        "bad_json",
    ),
    "UTF-16": ('{"texts": ["GEHEIM"]}'.encode("utf-16"), "bad_utf8"),
    "UTF-16 without a mark": ('{"texts": ["GEHEIM"]}'.encode("utf-16-le"), "bad_json"),
    "UTF-32": ('{"texts": ["GEHEIM"]}'.encode("utf-32"), "bad_utf8"),
    "NUL before": (b'\x00{"texts": ["GEHEIM"]}', "bad_json"),
    "NUL after": (b'{"texts": ["GEHEIM"]}\x00', "bad_json"),
    "NUL in a text": (b'{"texts": ["GEHEIM\x00"]}', "bad_json"),
    "line break in a text": (b'{"texts": ["GEHEIM\n"]}', "bad_json"),
    "tab in a text": (b'{"texts": ["GEHEIM\t"]}', "bad_json"),
    "bad escape": (b'{"texts": ["GEHEIM\\x41"]}', "bad_json"),
    "short escape": (b'{"texts": ["GEHEIM\\u41"]}', "bad_json"),
    "33 lists": (b"[" * 33 + b"]" * 33, "bad_json"),
    "33 objects": (b'{"a":' * 33 + b"1" + b"}" * 33, "bad_json"),
    "100,000 lists": (b"[" * 100_000 + b"]" * 100_000, "bad_json"),
    "100,000 open lists": (b"[" * 100_000, "bad_json"),
    "100,000 open objects": (b'{"a":' * 100_000, "bad_json"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*I\xad(Q\xb2", "bad_utf8"),
    "form": (b"texts=GEHEIM", "bad_json"),
    "XML": (b"<texts>GEHEIM</texts>", "bad_json"),
    "XML entity": (b'<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd">]><x>&x;</x>', "bad_json"),
    "YAML": (b"texts:\n- GEHEIM\n", "bad_json"),
    "chunk as text": (b'5\r\n{"a":\r\n0\r\n\r\n', "bad_json"),
    "true in capitals": (b'{"sample": True}', "bad_json"),
    "no-break space": (b'\xc2\xa0{"texts": ["GEHEIM"]}', "bad_json"),
}

WRONG: dict[str, tuple[bytes, str]] = {
    "null": (b"null", "body: an object is needed"),
    "number": (b"1", "body: an object is needed"),
    "text": (b'"GEHEIM"', "body: an object is needed"),
    "list": (b'["GEHEIM"]', "body: an object is needed"),
    "no field": (b"{}", "texts: field required"),
    "text for a list": (b'{"texts": "GEHEIM"}', "texts: input should be a valid list"),
    "number for a text": (b'{"texts": [1]}', "texts.0: input should be a valid string"),
    "null for a text": (b'{"texts": ["a", null]}', "texts.1: input should be a valid string"),
    "object for a text": (b'{"texts": [{"GEHEIM": 1}]}', "texts.0: input should be a valid string"),
    "no texts": (b'{"texts": []}', "texts: list should have at least 1 item"),
    "text for a number": (b'{"texts": ["a"], "beam": "4"}', "beam: input should be a valid integer"),
    "true for a number": (b'{"texts": ["a"], "beam": true}', "beam: input should be a valid integer"),
    "1.5 for a whole number": (b'{"texts": ["a"], "beam": 1.5}', "beam: input should be a valid integer"),
    "2^53 as a seed": (
        b'{"texts": ["a"], "seed": 9007199254740992}',
        "seed: input should be less than or equal to 9007199254740991",
    ),
    "twenty digits": (b'{"texts": ["a"], "seed": 12345678901234567890}', "seed: input should be less than"),
    "1 for true": (b'{"texts": ["a"], "sample": 1}', "sample: input should be a valid boolean"),
    "unknown field": (b'{"texts": ["a"], "beem": 4}', "beem: unknown field"),
    "unknown field in another script": ('{"texts": ["a"], "비밀": 4}'.encode(), "?: unknown field"),
    "unknown field with a tag": (b'{"texts": ["a"], "<b>GEHEIM</b>": 4}', "?: unknown field"),
    "unknown word": (
        b'{"texts": ["a"], "long": "GEHEIM"}',
        "long: input should be 'split', 'cut' or 'error'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_body_is_a_400_that_does_not_repeat_it(running: Running, name: str) -> None:
    body, code = BAD[name]
    if not body:  # without a body there is nothing to be read
        with pytest.raises(Problem) as found:
            read_json(body)
        assert found.value.code == code
        return
    status, problem = running.post_raw("/v1/translate", body)
    assert (status, problem["code"]) == (400, code)
    assert SECRET not in json.dumps(problem)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_a_422_that_names_the_field(running: Running, name: str) -> None:
    body, detail = WRONG[name]
    status, problem = running.post_raw("/v1/translate", body)
    assert (status, problem["code"]) == (422, "bad_parameter")
    assert problem["detail"].startswith(detail)
    assert SECRET not in json.dumps(problem)
    assert "비밀" not in json.dumps(problem, ensure_ascii=False)


def test_depth_at_the_limit_is_read() -> None:
    assert read_json(b"[" * 32 + b"]" * 32)
    assert read_json(b'{"a":' * 32 + b"1" + b"}" * 32)
    assert read_json(b"[[[1]], [2]]", depth=3) == [[[1]], [2]]
    with pytest.raises(Problem, match="more than 2 lists or objects"):
        read_json(b"[[[1]], [2]]", depth=2)


def test_numbers_at_the_limit_are_read(client: httpx2.Client) -> None:
    body = {"texts": ["a"], "max_len": 1, "sample": True, "seed": 2**53 - 1}
    assert client.post("/v1/translate", json=body).status_code == 200
    assert read_json(b"9" * 309) == 10**309 - 1
    assert read_json(b"[9223372036854775807, -9223372036854775808, 1e308, -0.0]")[:2] == [2**63 - 1, -(2**63)]


def test_a_whole_number_may_be_written_with_a_point(client: httpx2.Client) -> None:
    """As JSON Schema has it: 1.0 and 1e0 are integers, 1.5 is none."""
    found = read_json(b"[1.0, 2e1, -3.0, 1.5, 9007199254740992.0, 1e300]")
    assert [type(one) for one in found] == [int, int, int, float, int, float]
    assert found == [1, 20, -3, 1.5, 2**53, 1e300]
    assert json.dumps(read_json(b"[1e15, 1e23]")) == "[1000000000000000, 1e+23]"  # no digits that none gave
    body = b'{"texts": ["a"], "beam": 1.0, "max_len": 2e0, "top_p": 1.0}'
    answer = client.post("/v1/translate", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, answer.text


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@settings(max_examples=40)
@given(values, st.booleans())
def test_what_is_json_is_read_as_it_was_written(value: object, ascii_only: bool) -> None:  # noqa: FBT001
    assert read_json(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_problem(body: bytes) -> None:
    codes = []
    try:
        read_json(body)
    except Problem as problem:
        codes = [(problem.status_code, problem.code)]
    assert all(code in ((400, "bad_json"), (400, "bad_utf8"), (400, "bad_number")) for code in codes)


def test_every_status_that_a_route_may_answer_is_described() -> None:
    assert list(PROBLEMS) == [400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503, 504]
    schema = {"schema": {"$ref": "#/components/schemas/ProblemOut"}}
    assert all(one["content"] == {"application/problem+json": schema} for one in PROBLEMS.values())


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"a": "\xff"}', "the body is not UTF-8: byte 7"),
        (b"\xef\xbb\xbf{}", "the body begins with a byte-order mark"),
        (b'{"a": 1,}', "the body is not JSON: character 8"),
        (b"[[1]]", "the body has more than 1 lists or objects inside each other"),
        (b"[" * 100_000, "the body has more than 1 lists or objects inside each other"),
        (b'["\\ud800"]', "a text has half of a surrogate pair"),
        (b'{"a": 1, "a": 1}', "an object has the same name twice"),
        (b"[1e999]", "a number is too large"),
        (b"-" + b"9" * 310, "a whole number is too large"),
        (b"[NaN]", "NaN and Infinity are not numbers of JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_with_a_body_is_said_in_a_sentence(body: bytes, sentence: str) -> None:
    with pytest.raises(Problem) as found:
        read_json(body, depth=1)
    assert (found.value.status_code, found.value.sentence) == (400, sentence)


def test_a_sign_is_no_digit() -> None:
    assert read_json(b"-" + b"9" * 309) == 1 - 10**309
    assert [type(one) for one in read_json(b"[-9007199254740992.0, 9007199254740994.0]")] == [int, float]


@pytest.mark.parametrize(
    ("held", "copy"), [('"a"', True), ('"b", "a"', True), ('"b","a" ,"c"', True), ('"b"', False), ("", False)]
)
def test_a_client_may_name_several_versions_that_it_has(held: str, copy: bool) -> None:  # noqa: FBT001
    request = Request({"type": "http", "headers": [(b"if-none-match", held.encode())] if held else []})
    assert has_copy(request, '"a"') is copy
