import gzip
import json
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.explain.conftest import built

from jumok import model as models
from jumok.checkpoint.model import save_model
from jumok.cli.translate import EXAMPLES, translate
from jumok.config import DataConfig, DecodingConfig, LuongConfig, RunConfig, TextConfig
from jumok.data.questions import join_question
from jumok.decoding.links import align_words
from jumok.decoding.translator import Translator, load
from jumok.errors import ConfigError, DataError, LimitError
from jumok.explain.trace import open_trace
from jumok.models.build import build_model
from jumok.native.library import available
from jumok.text.tokenizer import Tokenizers, train_tokenizer

__all__ = ["built"]

TEXT = "a man\n\nthe dog sees\r\n나는 영화를\u2028봤다\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained model: its answers are nonsense, but always the same nonsense."""
    text = TextConfig(vocabulary=320)
    tokenizer = train_tokenizer(["a man rides a horse.", "the dog sees a man", "나는 영화를 봤다"] * 3, text)
    torch.manual_seed(1)
    config = LuongConfig(width=16)
    model = build_model(config, tokenizer.size, tokenizer.size, shared=True)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    run = RunConfig(
        model=config,
        text=text,
        data=DataConfig(max_length=20),
        decoding=DecodingConfig(beam=2, max_len=8),
    )
    place = tmp_path_factory.mktemp("model") / "tiny"
    return save_model(place, model.state_dict(), run, Tokenizers(tokenizer, tokenizer), {"step": 1})


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return load(folder, "cpu")


def run(folder: Path, *args: str, stdin: bytes | str | None = None) -> Result:
    cpu = [] if "--device" in args else ["--device", "cpu"]
    result = CliRunner().invoke(translate, ["-m", str(folder), *cpu, *args], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_arguments_are_lines(folder: Path, translator: Translator) -> None:
    result = run(folder, "a man", "", "the dog")
    expected = [one.text for one in translator.translate(["a man", "", "the dog"])]
    assert result.stdout.split("\n")[:-1] == expected
    assert result.stderr == ""


def test_standard_input(folder: Path, translator: Translator) -> None:
    lines = ["a man", "", "the dog sees", "나는 영화를\u2028봤다"]
    result = run(folder, stdin="\ufeff" + TEXT)
    assert result.stdout.split("\n")[:-1] == [one.text for one in translator.translate(lines)]


def test_files_and_a_summary(folder: Path, translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "in.gz").write_bytes(gzip.compress(TEXT.encode()))
    result = run(
        folder, "-i", str(tmp_path / "in.gz"), "-o", str(tmp_path / "out.gz"), "--beam", "1", "--scores"
    )
    lines = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().split("\n")
    assert len(lines) == 5
    best = translator.translate("a man", beam=1)
    assert lines[0] == f"{best.text}\t{best.score:.4f}"
    assert lines[1] == "\t0.0000"
    assert result.stdout == ""
    look, summary = result.stderr.splitlines()
    assert look.startswith(
        "sentences: several in 1 of the first 3 lines; each line is taken whole: it does not"
    )
    assert summary.startswith("4 lines · ")
    engine = " ".join(translator.engine.values())
    assert result.stderr.endswith(f" tokens/s · {engine}\n")
    assert run(folder, "-i", str(tmp_path / "in.gz"), "-o", str(tmp_path / "out"), "-q").stderr == ""


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=9))
)
def test_one_line_in_one_line_out(folder: Path, lines: list[str]) -> None:
    result = run(
        folder, "--beam", "1", "--batch-tokens", "40", stdin="".join(f"{x}\n" for x in lines).encode()
    )
    assert result.stdout_bytes.count(b"\n") == len(lines)


def test_n_best_in_moses_form(folder: Path, translator: Translator) -> None:
    result = run(folder, "--n-best", "2", "--beam", "4", "a man", "")
    best = translator.translate("a man", n_best=2, beam=4).hypotheses
    assert result.stdout.split("\n") == [
        *(f"0 ||| {one.text} ||| {one.score:.4f}" for one in best),
        "1 |||  ||| 0.0000",
        "",
    ]
    assert len(run(folder, "--n-best", "2", "--format", "text", "a man", "").stdout.split("\n")) == 3


def test_json_lines(folder: Path, translator: Translator) -> None:
    result = run(folder, "--json", "--n-best", "2", "a man", "")
    first, blank = map(json.loads, result.stdout.splitlines())
    best = translator.translate("a man", n_best=2)
    assert (first["line"], first["src"], first["text"]) == (1, "a man", best.text)
    assert first["score"] == pytest.approx(best.score, abs=1e-5)
    assert first["score_per_token"] == pytest.approx(best.score_per_token, abs=1e-5)
    assert "".join(first["tokens"]).removeprefix(" ") == best.text or "<0x" in "".join(first["tokens"])
    assert first["alternatives"][0]["text"] == best.alternatives[0].text
    assert blank == {
        "line": 2,
        "src": "",
        "text": "",
        "score": 0.0,
        "score_per_token": 0.0,
        "tokens": [],
        "finished": True,
    }


def test_search_options_reach_the_search(folder: Path, translator: Translator) -> None:
    options = {"prefix": "the dog", "ban": ["x"], "require": ["man"], "max_len": 20, "min_len": 0}
    args = ("--prefix", "the dog", "--ban", "x", "--require", "man", "--max-len", "20", "--min-len", "0")
    assert run(folder, *args, "a man").stdout == translator.translate("a man", **options).text + "\n"
    drawn = ("--sample", "--seed", "0", "--temperature", "1.5", "--top-k", "9", "--top-p", "0.9")
    expected = translator.translate("a", sample=True, seed=0, temperature=1.5, top_k=9, top_p=0.9)
    assert run(folder, *drawn, "a").stdout == expected.text + "\n"


def test_a_glossary_and_what_became_of_its_terms(folder: Path, tmp_path: Path) -> None:
    terms, source = tmp_path / "terms.tsv", tmp_path / "in.txt"
    terms.write_text("# mine\nman\t하늘\nhorse\thorse|pony\npony\tx\n")
    source.write_text("a man\n\nthe dog\n")
    args = ("--max-len", "30", "--glossary", str(terms))
    done = run(folder, "-i", str(source), *args, "--json")
    first, blank, other = map(json.loads, done.stdout.splitlines())
    assert "하늘" in first["text"]
    assert first["terms"] == [{"source": "man", "targets": ["하늘"], "present": True}]
    assert "terms" not in blank
    assert "terms" not in other
    assert "1 of 1 terms of the glossary are there" in done.stderr
    assert f"note: {terms}:3: 'pony' is what 'horse' becomes and a term itself ({terms}:4)" in done.stderr


def test_a_glossary_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    terms = tmp_path / "terms.tsv"
    terms.write_text("man\tx\nMan\ty\n")
    with pytest.raises(DataError, match="'Man' becomes 'x' at .*terms.tsv:1, and 'y' here"):
        run(folder, "a man", "--glossary", str(terms))
    with pytest.raises(ConfigError, match="--glossary-mode needs --glossary FILE"):
        run(folder, "a man", "--glossary-mode", "soft")


def test_the_best_of_many_draws(folder: Path, translator: Translator) -> None:
    asked = ("--mbr", "6", "--utility", "rouge1", "--temperature", "0.7", "--seed", "3")
    options = {"mbr": 6, "utility": "rouge1", "temperature": 0.7, "seed": 3}
    expected = translator.translate("a man", n_best=3, **options)
    assert run(folder, *asked, "a man").stdout == expected.text + "\n"
    lines = run(folder, *asked, "--n-best", "3", "a man").stdout.splitlines()
    assert lines == [f"0 ||| {one.text} ||| {one.score:.4f}" for one in expected.hypotheses]
    traced = json.loads(run(folder, *asked, "--align", "--json", "a man").stdout)
    assert traced["text"] == expected.text


def test_the_best_of_many_draws_grows_only_as_far_as_all_share_it(folder: Path) -> None:
    asked = ("--mbr", "4", "--temperature", "0.1")
    assert run(folder, "--stream", *asked, stdin=TEXT).stdout == run(folder, *asked, stdin=TEXT).stdout
    *events, final = map(json.loads, run(folder, "--stream", "--json", *asked, "a man").stdout.splitlines())
    before: list[str] = []
    for event in events:
        assert event["tokens"][: len(before)] == before
        before = event["tokens"][: event["stable"]]
    assert before == [token["text"] for token in final["tokens"] if token["text"] != "</s>"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-i", "x", "text"], "both TEXT and -i FILE are given"),
        (["--json", "--format", "moses", "text"], "both --json and --format moses are given"),
        (["--top-k", "0", "text"], "--top-k changes nothing in a search\n  add --sample or --mbr N to draw"),
        (["--utility", "chrf", "--sample", "text"], "--utility changes nothing without --mbr\n  add --mbr N"),
        (["--mbr", "4", "--beam", "4", "text"], "beam and mbr cannot be had together\n  mbr draws its"),
        (["--mbr", "4", "--sample", "text"], "sample and mbr cannot be had together"),
        (["--mbr", "4", "--n-best", "5", "text"], "4 draws give at most 4 answers: raise decoding.mbr"),
        (["--n-best", "9", "text"], "decoding.n_best=9 cannot work"),
        (["-o", "/nowhere/out", "text"], "cannot write /nowhere/out: No such file or directory"),
        (["--align", "--n-best", "2", "text"], "--align has no place in the moses form\n  add --json or"),
        (
            ["--attention", "x.txt", "text"],
            "--attention x.txt: the name says no form\n  end it with .html or",
        ),
        (["--device", "abacus", "text"], "device 'abacus' is not available"),
    ],
)
def test_wrong_usage(folder: Path, args: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run(folder, *args)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_links_after_the_text(folder: Path) -> None:
    model = models.load(folder, "cpu")
    expected = model.translate("a man", align=True)
    links = str(align_words("a man", expected, model.tokenizers))
    first, blank = run(folder, "--align", "a man", "").stdout.splitlines()
    assert first == f"{expected.text} ||| {links}"
    assert blank == " ||| "
    scored = run(folder, "--align", "--scores", "a man").stdout
    assert scored == f"{expected.text}\t{expected.score:.4f} ||| {links}\n"
    found = json.loads(run(folder, "--align", "--json", "--n-best", "2", "a man").stdout)
    assert found["align"] == links
    assert found["words"]["src"] == ["a", "man"]
    assert len(found["alternatives"]) == 1


def test_where_it_looked_in_a_file(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "a.trace"
    result = run(folder, "--attention", str(place), "a man")
    assert result.stderr == f"attention: {place}\n"
    trace = open_trace(place)
    assert trace.manifest["source"]["text"] == "a man"
    assert trace.manifest["target"]["text"] + "\n" == result.stdout
    with pytest.raises(ConfigError, match="takes one line, and there are more"):
        run(folder, "--attention", str(place), stdin="a man\nthe dog\n")


@pytest.mark.usefixtures("built")
def test_a_folder_gets_a_page_for_each_line(folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    result = run(folder, "--attention", str(pages), stdin=TEXT)
    assert result.stdout == run(folder, stdin=TEXT).stdout
    names = sorted(path.name for path in pages.iterdir())
    assert names == ["000001.html", "000003.html", "000004.html"]  # line 2 is blank


def test_answers_as_they_grow(folder: Path) -> None:
    assert run(folder, "--stream", stdin=TEXT).stdout == run(folder, stdin=TEXT).stdout
    events = run(folder, "--stream", "--json", "a man").stdout.splitlines()
    assert json.loads(events[0])["type"] == "partial"
    assert json.loads(events[-1])["text"] + "\n" == run(folder, "a man").stdout


@pytest.mark.parametrize(
    "words", [["--n-best", "2"], ["-o", "x"], ["--align"], ["--attention", "x.html"], ["--scores"]]
)
def test_what_grows_has_nothing_else_to_tell(
    folder: Path, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=f"--stream and {words[0]} cannot be had together"):
        run(folder, "--stream", *words, "a")


@pytest.mark.usefixtures("built")
def test_every_example_of_the_help_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("test.en").write_text("a man\n")
    Path("report.html").write_text("<p>a <b>man</b></p>\n")
    *shown, several = EXAMPLES.splitlines()[1:]
    assert "-m runs/several --to fr" in several  # the bundled models have one direction
    lines = [line.split("jumok translate -m runs/en-de")[1] for line in shown]
    tuv = '<tuv xml:lang="{}"><seg>a man</seg></tuv>'
    unit = f"<tu>{tuv.format('mul')}{tuv.format('iso8601')}</tu>"
    Path("earlier.tmx").write_text(f"<tmx><body>{unit}</body></tmx>")
    assert len(lines) == 5
    for line in lines:
        assert run(Path("demo/luong"), *shlex.split(line), stdin="Hello.\n").exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"test.de", "horse.html", "report.de.html"}


def test_several_models_answer_together(tmp_path: Path) -> None:
    """Also a document, also with the mean of logs; the summary is as for one model."""
    both, text = Path("demo/rnn+demo/luong"), "den 5 mars 2024 kl. 14:30"
    for mean in ("probabilities", "logs"):
        model = load(str(both), mean=mean)
        found = run(both, text, "--mean", mean, "--scores", "--beam", "2").stdout
        answer = model.translate(text, beam=2)
        assert found == f"{answer.text}\t{answer.score:.4f}\n"
    page, out = tmp_path / "page.html", tmp_path / "out.html"
    page.write_text(f"<p>{text}</p>\n", encoding="utf-8")
    run(both, "-i", str(page), "-o", str(out), "-q")
    assert "2024-03-05T14:30" in out.read_text(encoding="utf-8")


def test_a_memory_is_reused_and_shown(folder: Path, translator: Translator, tmp_path: Path) -> None:
    memory = tmp_path / "memory.tsv"
    memory.write_text("a man\tein Mann\nthe dog sees it\tder Hund sieht es\n")
    result = run(folder, "a  man", "the dog sees", "--memory", str(memory))
    assert result.stdout == f"ein Mann\n{translator.translate('the dog sees').text}\n"
    assert result.stderr == "memory: reused in 1 line; similar entries for 1 (--json shows them)\n"
    first, second, third = map(
        json.loads,
        run(folder, "a man", "the dog sees", "x", "--memory", str(memory), "--json").stdout.splitlines(),
    )
    entry = {"span": [0, 5], "source": "a man", "target": "ein Mann", "score": 1.0, "used": True}
    assert first["matches"] == [entry]
    assert [(one["target"], one["used"]) for one in second["matches"]] == [("der Hund sieht es", False)]
    assert "matches" not in third
    assert run(folder, "a man", "--memory", str(memory), "-q").stderr == ""


@pytest.mark.parametrize("option", [("--stream",), ("--align",), ("--attention", "a.html")])
def test_a_memory_shows_nothing_of_the_model(folder: Path, option: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"--memory and {option[0]} cannot be had together"):
        run(folder, "a man", "--memory", str(tmp_path / "a.tsv"), *option)
    with pytest.raises(DataError, match="no such file"):
        run(folder, "a man", "--memory", str(tmp_path / "a.tsv"))


def test_bad_bytes_are_found_before_the_work_begins(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"good\nb\xffd\n")
    (tmp_path / "out.txt").write_bytes(b"old")
    args = ("-i", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out.txt"))
    with pytest.raises(DataError) as caught:
        run(folder, *args)
    assert "in.txt:2" in str(caught.value)
    assert (tmp_path / "out.txt").read_bytes() == b"old"
    run(folder, *args, "--errors", "replace")
    assert (tmp_path / "out.txt").read_bytes().count(b"\n") == 2


def command(*args: str) -> "subprocess.Popen[bytes]":
    code = "import sys; from jumok.cli.main import main; main(sys.argv[1:])"
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}  # which would flush by itself
    return subprocess.Popen([sys.executable, "-c", code, "translate", *args], env=env, **streams)


def test_a_pipe_is_answered_line_by_line_and_may_be_closed(folder: Path) -> None:
    with command("-m", str(folder), "--line-buffered", "--beam", "1") as process:
        process.stdin.write(b"a man\n")
        process.stdin.flush()
        answered, _, _ = select.select([process.stdout], [], [], 60)
        if not answered:
            process.kill()
        assert answered, "it waits for the end of the input"
        assert process.stdout.readline().endswith(b"\n")
        process.stdout.close()
        process.stdin.write(b"the dog\n" * 3)
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""


def test_questions_about_a_context(folder: Path, translator: Translator, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("the dog\nsees\n")
    expected = translator.translate(join_question("a man", "the dog sees"))
    for context in ("the dog sees", str(tmp_path / "c.txt")):
        first, blank = run(folder, "--context", context, "a man", " ", "--json").stdout.splitlines()
        assert (json.loads(first)["src"], json.loads(first)["text"]) == (expected.source, expected.text)
        assert json.loads(blank)["text"] == ""


def test_a_context_too_long_is_cut_only_when_asked(folder: Path) -> None:
    words = ["--context", "the dog sees a man " * 9, "a man"]
    with pytest.raises(LimitError, match='and this model takes 20\n  long="cut" reads only the beginning'):
        run(folder, *words)
    assert len(run(folder, *words, "--long", "cut").stdout.splitlines()) == 1


BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError(f"{name} is not to be imported")
sys.meta_path.insert(0, Block())
from jumok.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_a_translation_takes_no_torch(folder: Path, translator: Translator, tmp_path: Path) -> None:
    def jumok(*args: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", BLOCKED, *args]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    done = jumok(
        "translate", "-m", str(folder), "a man", "the dog", "--n-best", "2", "--json", "--device", "cpu"
    )
    assert done.stderr == ""
    expected = translator.translate(["a man", "the dog"], n_best=2)
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == [one.text for one in expected]
    for name in ("test.src", "test.tgt"):
        (tmp_path / name).write_text("a man\nthe dog\n")
    files = ("-s", str(tmp_path / "test.src"), "-t", str(tmp_path / "test.tgt"))
    metrics = ("--metric", "chrf,ppl", "--device", "cpu", "--json")
    done = jumok("evaluate", "-m", str(folder), *files, *metrics)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["speed"]["engine"]["name"] == "native"
    done = jumok("translate", "-m", str(folder), "a man", "--align", "--device", "cpu")
    assert done.returncode == 0, done.stderr
    assert " ||| " in done.stdout
    for way, options in ((("--sample",), {"sample": True}), (("--mbr", "3"), {"mbr": 3})):
        done = jumok("translate", "-m", str(folder), "a man", *way, "--device", "cpu")
        assert done.stdout.rstrip("\n") == translator.translate("a man", **options).text
    done = jumok("translate", "-m", str(folder), "a man", "--no-repeat-ngram", "2", "--device", "cpu")
    assert "torch is not to be imported" in done.stderr  # the hook works


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_what_a_chosen_engine_lacks_is_named(folder: Path) -> None:
    options, lack = ["--no-repeat-ngram", "2"], "no_repeat_ngram"
    with pytest.raises(ConfigError, match=f"the native engine has no {lack}\n  leave out {lack}, or choose"):
        run(folder, "a man", "--engine", "native", *options)
    assert run(folder, "a man", *options).stdout  # auto lets torch do it
    assert run(folder, "a man", "--engine", "torch", *options).stdout


@pytest.mark.skipif(not available(), reason="the C library was not built")
@pytest.mark.parametrize("options", [["--sample", "--seed", "3"], ["--mbr", "3"], ["--mbr", "3", "--stream"]])
def test_both_engines_draw_the_same(folder: Path, options: list[str]) -> None:
    drawn = [run(folder, "a man", "--engine", engine, *options).stdout for engine in ("native", "torch")]
    assert drawn[0] == drawn[1] != ""


@pytest.mark.skipif(not available(), reason="the C library was not built")
def test_both_engines_stream_the_same(folder: Path) -> None:
    native = run(folder, "a man", "--stream", "--engine", "native").stdout
    assert native
    assert native == run(folder, "a man", "--stream", "--engine", "torch").stdout


def test_both_engines_answer_the_same(folder: Path) -> None:
    lines = [
        [
            json.loads(line)
            for line in run(folder, *TEXT.split(), "--json", "--engine", engine).stdout.splitlines()
        ]
        for engine in ("auto", "torch")
    ]
    for one, other in zip(*lines, strict=True):
        assert one["text"] == other["text"]
        assert one["score_per_token"] == pytest.approx(other["score_per_token"], abs=1e-5)


def test_one_line_says_why_torch_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUMOK_NATIVE_LIBRARY", "/no/such.so")
    said = run(folder, "a man").stderr
    assert said == "note: torch is used, not the native engine: JUMOK_NATIVE_LIBRARY=/no/such.so is no file\n"
    assert run(folder, "a man", "-q").stderr == ""
    assert run(folder, "a man", "--engine", "torch").stderr == ""
    with pytest.raises(ConfigError, match="the native engine is not there: JUMOK_NATIVE_LIBRARY=/no/such.so"):
        run(folder, "a man", "--engine", "native")
