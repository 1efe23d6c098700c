"""What is looked into: a model and a text, a what-if, or a file."""

from pathlib import Path

import pytest
from tests.cli.views.conftest import TEXT, Traces

from jumok.cli.views.look import Asked, look
from jumok.errors import ConfigError


def test_a_text_a_target_and_options_of_the_search() -> None:
    model = Path("demo/luong")
    assert look(Asked(model, TEXT)).trace.manifest["target"]["text"] == "2024-03-05T14:30"
    assert look(Asked(model, TEXT, target="x")).trace.manifest["target"]["origin"] == "given"
    assert look(Asked(model, TEXT, options={"beam": 2})).trace.manifest["decode"]["beam"] == 2


def test_a_file(traces: Traces, tmp_path: Path) -> None:
    place = traces["luong"].save(tmp_path / "a.trace")
    assert look(Asked(file=place)).trace.id == traces["luong"].id


def test_a_what_if_has_both_traces() -> None:
    found = look(Asked(Path("demo/rnn"), TEXT, ops=("bridge mode=zero",)))
    assert found.change is not None
    edited, before = found.traces
    assert edited.manifest["interventions"] == [{"op": "bridge", "mode": "zero"}]
    assert before.manifest["interventions"] == []


@pytest.mark.parametrize(
    ("model", "words", "message", "where"),
    [
        (
            "rnn",
            "mask_head kind=cross layer=1 head=1",
            "mask_head: kind: this model (rnn) has no cross attention",
            "--what-if 'mask_head kind=cross layer=1 head=1'",
        ),
        (
            "transformer",
            "replace_source unit=99 text=a",
            "replace_source: unit 98 does not exist: the source has words 0 to 8",
            "--what-if 'replace_source unit=99 text=a' (this message counts from 0)",
        ),
        ("transformer", "bridge mode=zero", "bridge: a Transformer has no bridge", "--what-if 'bridge mode"),
        (
            "luong",
            "no_scale kind=cross",
            "no_scale: Luong's attention does not divide",
            "--what-if 'no_scale",
        ),
    ],
)
def test_what_a_model_cannot_do_is_said_with_the_words_that_asked(
    model: str, words: str, message: str, where: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        look(Asked(Path(f"demo/{model}"), TEXT, ops=("ban text=x", words)))
    assert caught.value.message.startswith(message)
    assert caught.value.where.startswith(where)
