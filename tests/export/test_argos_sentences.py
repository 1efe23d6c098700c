"""The network splits as our rules do, wherever it can see enough."""

import json

import numpy as np
import onnxruntime
import pytest

from jumok.export.argos_sentences import splitter_bytes
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
