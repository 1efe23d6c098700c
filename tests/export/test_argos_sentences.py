"""The network splits as our rules do, wherever it can see enough."""

import json

import numpy as np
import onnxruntime
import pytest

from jumok.export.argos_sentences import Pattern, kernel, known, splitter_bytes, words
from jumok.text.sentences import lay_out

TEXTS = {
    "en": 'Mr. J. Smith paid $3.14. "Come!" he said. See www.x.com. U.S. forces left. It was 5 p.m. '
    'Then she left. Is it? I know. "No?" Yes. She lives at 5B. Rain fell.',
    "de": "Das ist z. B. Herr Dr. Müller. Er kam am 5. März 2020 an. Der Wert ist 3.14. Brot usw. "
    "Das ist alles. Es sind 5Dr. Brot ist da. Es sind 5 %. Brot fehlt. Ende!",
    "fr": "Attention ! Il vient. M. Dupont est là.",
    "ko": "그는 왔다. 정말? 네. 조지 W. 부시가 왔다. 2020. 3. 5.에 그랬다. 끝.",
    "ja": "本当？はい。「行く。」と言った。「行く。」カメラだ。彼は来た。",
    "zh": "他来了。“你好”是什么？好!3个。对!A好!不",
    "ar": "وصل د. أحمد. هل أنت هنا؟ نعم.",
    "sv": "Tåget går kl. 14:30 i dag. Hon vet.",
    "": "One came. Two went.",
}


def split(session: onnxruntime.InferenceSession, text: str) -> list[str]:
    """As MiniSBD asks and reads, for a text without runs of white space."""
    about = json.loads(session.get_modelmeta().custom_metadata_map["vocab"])["_unit2id"]
    units = np.array([[about.get(one, about["<UNK>"]) for one in text] + [about["<PAD>"]]], np.int64)
    features = np.zeros((1, len(text) + 1, 0), np.float32)
    [classes] = session.run(None, {"units": units, "features": features})
    assert classes.shape == (1, len(text) + 1, 3)
    found, begin = [], 0
    for place in [*np.flatnonzero(classes[0, : len(text)].argmax(axis=1) == 2), len(text) - 1]:
        found.append(text[begin : place + 1].strip())
        begin = place + 1
    return [one for one in found if one]


@pytest.mark.parametrize("language", TEXTS)
def test_the_network_splits_as_the_rules_do(language: str) -> None:
    session = onnxruntime.InferenceSession(splitter_bytes(language))
    text = TEXTS[language]
    found = split(session, text)
    assert found == list(lay_out(text, language).sentences)
    assert len(found) > 1


def test_it_says_what_the_reader_asks_for() -> None:
    session = onnxruntime.InferenceSession(splitter_bytes("en"))
    about = session.get_modelmeta().custom_metadata_map
    assert about["lang_code"] == "en"
    assert json.loads(about["config"])["feat_funcs"] == []
    assert json.loads(about["vocab"])["_id2unit"][:2] == ["<PAD>", "<UNK>"]


def test_the_file_is_the_same_each_time() -> None:
    assert splitter_bytes("de") == splitter_bytes("de-AT")


def test_a_kernel_finds_its_pattern_alone() -> None:
    """1 where all that must stand there does and nothing that must not; at most 0 elsewhere."""
    place = {"dot": 0, "digit": 1, "letter": 2}
    pattern = Pattern(((0, "dot"), (-1, "digit")), ((1, "letter"),))
    weights, bias = kernel([pattern], place)
    assert weights.shape == (1, 3, 25)
    assert bias.tolist() == [-1]
    assert {
        (int(c), int(n) - 12): weights[0, c, n] for c, n in zip(*np.nonzero(weights[0]), strict=True)
    } == {
        (0, 0): 1,
        (1, -1): 1,
        (2, 1): -2,
    }


def test_abbreviations_are_patterns_of_their_letters_before_the_dot() -> None:
    [one, spaced] = words(["z.b"])
    before = (-4, "letter"), (-4, "digit")
    assert one == Pattern(((0, "dot"), (-3, "z"), (-2, "dot"), (-1, "b")), before)
    assert spaced.yes == ((0, "dot"), (-4, "z"), (-3, "dot"), (-2, "space"), (-1, "b"))
    assert spaced.no == ((-5, "letter"), (-5, "digit"))
    assert [len(one.yes) for one in words(["b" * 11, "a", "c" * 12])] == [2, 12]  # what can be seen, in order


def test_letters_are_latin_greek_cyrillic_and_arabic() -> None:
    for letter in "AzÀűɏͰΩяԯؠي":
        assert known(letter), letter
    for other in ("ɐ", "԰", "ͯ", "ً", "가", "あ", "1", "-", "@"):
        assert not known(other), other
    assert known("z. b")


def test_its_names_sizes_and_settings() -> None:
    session = onnxruntime.InferenceSession(splitter_bytes("de-AT"))
    assert [(one.name, one.type, one.shape) for one in session.get_inputs()] == [
        ("units", "tensor(int64)", ["batch", "length"]),
        ("features", "tensor(float)", ["batch", "length", "features"]),
    ]
    [found] = session.get_outputs()
    assert (found.name, found.type, found.shape) == ("classes", "tensor(float)", ["batch", "length", 3])
    about = session.get_modelmeta().custom_metadata_map
    assert about["lang_code"] == "de"
    assert json.loads(about["config"]) == {
        "skip_newline": False,
        "max_seqlen": 1000,
        "batch_size": 8,
        "feat_funcs": [],
    }
    vocabulary = json.loads(about["vocab"])
    units = vocabulary.pop("_id2unit")
    assert vocabulary.pop("_unit2id") == {unit: n for n, unit in enumerate(units)}
    assert vocabulary == {"lang": "", "idx": 0, "cutoff": 0, "lower": False}
    assert units[2:] == sorted(set(units[2:]))
    nameless = onnxruntime.InferenceSession(splitter_bytes(""))
    assert nameless.get_modelmeta().custom_metadata_map["lang_code"] == "en"
