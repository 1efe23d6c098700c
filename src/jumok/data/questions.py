"""Questions about a context as one source text: "␞ QUESTION ␟ CONTEXT".

The marks are words of their own, so they always become tokens of their own, whatever the tokenizer. The
question comes first: where a long source is cut, the end of its context is lost.
"""

from collections.abc import Mapping
from typing import Any

from jumok.errors import DataError
from jumok.text.marks import CONTEXT_MARK, QUESTION_MARK
from jumok.text.normalize import tidy

KEYS = ("context", "question", "answer")
NO_MARKS = str.maketrans({QUESTION_MARK: " ", CONTEXT_MARK: " "})


def join_question(question: str, context: str) -> str:
    """The source of a question about a context, tidied; marks inside the two become spaces."""
    question, context = (tidy(text.translate(NO_MARKS)) for text in (question, context))
    if not question:
        raise DataError("the question is blank", hint="ask something", code="blank_question")
    return f"{QUESTION_MARK} {question} {CONTEXT_MARK} {context}".rstrip()


def holds_question(value: Mapping[str, Any]) -> bool:
    """Whether the object of a JSONL line is a question with its context and answer."""
    return all(key in value for key in KEYS)


def read_question(value: Mapping[str, Any], where: str) -> tuple[str, str]:
    """Source and target of such an object; a blank question or answer is refused."""
    for key in KEYS:
        if not isinstance(value[key], str):
            raise DataError(f'"{key}" is not a text', where=where, hint=HINT, code="bad_json")
    for key in ("question", "answer"):
        if not value[key].strip():
            raise DataError(f"the {key} is empty", where=where, hint=HINT, code=f"blank_{key}")
    return join_question(value["question"], value["context"]), value["answer"]


HINT = 'a line is {"context": "…", "question": "…", "answer": "…"}; leave out lines without an answer'
