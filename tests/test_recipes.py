"""Every recipe can be run as it says, and the script that runs them all works from end to end."""

import importlib.util
import json
import random
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from PIL import Image

from jumok.cli.main import cli
from jumok.config import RunConfig
from jumok.data.survey import Survey
from jumok.evaluation.metrics import check_names
from jumok.presets import preset
from jumok.run.machine import Machine
from jumok.run.plan import make_plan
from jumok.settings import Flat, config_to_dict, flatten, read_toml
from tests.processes import run_script

ROOT = Path(__file__).parents[1]
FOLDER, SCRIPTS = ROOT / "recipes", ROOT / "scripts"
RECIPES = sorted(FOLDER.glob("*.toml"))
GPU = Machine("cuda", "a large GPU", 16, 140 << 30, True, 700_000.0)  # noqa: FBT003
every_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


job, table = load_script("recipe_job"), load_script("recipe_table")


def test_all_sets_have_all_architectures() -> None:
    names = {path.stem for path in RECIPES}
    usual = {f"{data}-{arch}" for data in job.TRANSLATION for arch in ("rnn", "luong", "transformer")}
    tasks = {f"{data}-transformer" for data in job.TASKS}
    special = {"multi30k-en-de-60s", "multi30k-en-de-best", "multi30k-en-de-fast", "tatoeba-de-en-fast"}
    assert names == usual | tasks | special


def commands(recipe: Path) -> list[list[str]]:
    """The commands in a recipe's first lines, with their variables as plain folders."""
    text = recipe.read_text(encoding="utf-8")
    head = "\n".join(line.removeprefix("#").strip() for line in text.split("\n\n")[0].split("\n"))
    lines = re.sub(r"\\\n", " ", head).split("\n")
    return [shlex.split(line.replace("$", "/")) for line in lines if line.startswith("jumok ")]


@every_recipe
def test_a_recipe_holds_its_commands(recipe: Path) -> None:
    *before, train, evaluate = commands(recipe)
    assert [words[1] for words in (*before, train, evaluate)] in (
        ["train", "evaluate"],
        ["translate", "train", "evaluate"],  # what a larger model answers, to learn from
    )
    for words in (train, evaluate):
        command = cli.get_command(None, words[1])  # type: ignore[arg-type]
        assert command is not None
        options = command.make_context(words[1], words[2:], resilient_parsing=False).params
        if words is train:
            assert options["files"] == (f"recipes/{recipe.stem}.toml",)
            assert options["out"] == f"runs/{recipe.stem}"
            used = job.SETS[job.set_of(str(recipe))]
            if used.codes:
                for name, split in (("corpora", "train"), ("valid", used.valid)):
                    ends = [f"/{code}.{split}.tsv.gz:{code}-ipa" for code in used.codes]
                    assert all(map(str.endswith, options[name], ends))
            elif used.file:
                assert used.unfold or options["data__source"].endswith(
                    f"/{used.file}.gz".format(split="train")
                )
                valid = f"/{used.file}.gz".format(split=used.valid)
                assert options["data__valid_source"].endswith(valid)
                assert (options["data__images"] or "").endswith(used.images)
            elif used.folder:
                assert options["data__source"].endswith(f"/train.{used.source}.gz")
                assert options["data__valid_target"].endswith(f"/val.{used.target}.gz")
        else:
            assert options["models"] == (f"runs/{recipe.stem}",)
            used = job.SETS[job.set_of(str(recipe))]
            assert set(check_names(options["metric"].split(","))) == set(used.metrics)
            assert options["columns"] == used.columns
            if used.codes:
                ends = [f"/{code}.test.tsv.gz:{code}-ipa" for code in used.codes]
                assert all(map(str.endswith, options["data"], ends))
            else:
                assert options["data"] == (() if used.folder else (job.set_of(str(recipe)),))


def survey_of(pairs: int, words: int) -> Survey:
    """A corpus of this size, as the plan sees it."""
    hashes = np.arange(1, pairs + 1, dtype=np.uint64)
    return Survey(pairs, words * 6, words * 6, words, words, 150, hashes, hashes)


SIZES = {
    "tatoeba-de-en": (165_000, 1_060_000),
    "aeslc": (14_436, 1_706_788),
    "scitldr": (1_992, 316_192),
    "sae4k-ko": (26_478, 135_094),
    "chatbot-ko": (10_608, 38_046),
    "questions": (30_000, 1_100_000),
    "caption-questions": (17_081, 780_000),
    "cmudict": (117_950, 117_950),
    "emoji-captions": (3_186, 12_000),
    "flickr8k": (30_000, 353_454),
    "g2p-eng_us": (33_344, 33_344),
    "g2p-five": (65_344, 136_000),
}
"""Pairs and words of sets that are not as large as most."""


def survey_for(recipe: Path) -> Survey:
    data = job.set_of(str(recipe))
    return survey_of(*SIZES.get(data, (8_000, 8_000) if data.startswith("g2p") else (29_000, 340_000)))


@every_recipe
def test_a_recipe_is_planned_as_it_says(recipe: Path) -> None:
    given = read_toml(recipe)
    found = survey_for(recipe) if "homeassistant" not in recipe.stem else survey_of(17_000, 92_000)
    config = make_plan(given, found, GPU).config
    assert isinstance(config, RunConfig)
    planned = flatten(config_to_dict(config))
    assert {key: planned[key] for key in given} == given
    assert recipe.stem.endswith(("-60s", "-best", "-fast")) or recipe.stem.endswith(f"-{config.model.arch}")
    assert config.training.warmup < config.training.max_steps / 4


@every_recipe
def test_a_recipe_says_nothing_that_is_so_anyway(recipe: Path) -> None:
    given = read_toml(recipe)
    plain: Flat = {key: given[key] for key in ("model.arch", "data.name") if key in given}
    planned = flatten(config_to_dict(make_plan(plain, survey_for(recipe), GPU).config))
    anyway = {key for key in given.keys() - plain.keys() if planned[key] == given[key]}
    sizes = set(preset("base", given["model.arch"]))  # these are read together, so all of them are there
    pinned = {"training.batch_tokens", "training.warmup", "training.rdrop", "training.ema", "data.max_length"}
    assert anyway - sizes <= pinned | {"text.vocabulary", "text.dropout", "model.dropout"}


def test_the_readme_shows_the_results() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = page.split(table.BEGIN)[1].split(table.END)[0].strip()
    assert shown == table.draw_table(table.read_records(FOLDER / "results.jsonl"))
    readme = re.sub(r"\\\n", " ", page)
    assert (
        shlex.split(re.findall("jumok train .*", readme)[0].replace("$", "/"))
        == commands(FOLDER / "multi30k-en-de-transformer.toml")[0]
    )


def record(**changes: Any) -> dict[str, Any]:
    scores = {"bleu": 39.5, "bleu-lc": 40.5, "chrf": 62.0}
    return {
        "recipe": "multi30k-en-de-luong",
        "seed": 42,
        "settings": {},
        "parameters": 9_400_000,
        "steps": 6000,
        "jobs": 1,
        "seconds": {"until_score": 51.4},
        "test": {"test_2016_flickr": {"greedy": scores, "beam5": scores}},
        "signatures": {"bleu": "case:mixed", "bleu-lc": "case:lc", "chrf": "nw:2"},
        **changes,
    }


def test_the_table_has_a_row_for_each_recipe(tmp_path: Path) -> None:
    higher = {"bleu": 40.5, "bleu-lc": 41.5, "chrf": 63.0}
    other = record(seed=43, jobs=3, test={"test_2016_flickr": {"greedy": higher, "beam5": higher}})
    lines = table.draw_table([record(), other, {"name": "x", "error": "no"}]).split("\n")
    assert lines[2] == (
        "| [multi30k-en-de-luong](multi30k-en-de-luong.toml) | 9.4 M | 6,000 | 51 s (3 side by side) | 2 "
        "| 41.00 ± 0.71 | 41.00 ± 0.71 | 40.00 ± 0.71 | 62.50 ± 0.71 "
        "| 39.00, attention GRU (Caglayan et al. 2017) |"
    )
    assert lines[3:] == ["", "- BLEU lc: `case:lc`", "- BLEU cased: `case:mixed`", "- chrF++: `nw:2`"]
    page = tmp_path / "page.md"
    page.write_text(f"a\n{table.BEGIN}\nold\n{table.END}\nb\n", encoding="utf-8")
    table.write_table(page, [record()])
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"a\n{table.BEGIN}\n\n| recipe |")
    assert text.endswith(f"\n\n{table.END}\nb\n")


def test_a_seed_counts_once_and_changed_settings_apart() -> None:
    wide = record(settings={"model.width": 512})
    lines = table.draw_table([record(steps=1), record(steps=2000), wide]).split("\n")
    assert lines[2].startswith(
        "| [multi30k-en-de-luong](multi30k-en-de-luong.toml) | 9.4 M | 2,000 | 51 s | 1 | 40.50 |"
    )
    assert lines[3].startswith(
        "| [multi30k-en-de-luong model.width=512](multi30k-en-de-luong.toml) | 9.4 M |"
    )


def test_tasks_have_a_table_of_their_own() -> None:
    scores = {"exact": 84.0, "per": 3.2}
    said = record(
        recipe="g2p-kor-transformer",
        test={"test": {"greedy": {"exact": 83.0, "per": 3.5}, "beam5": scores}},
        signatures={"exact": "nrefs:1", "per": "nrefs:1|tok:none"},
    )
    lines = table.draw_table([record(), said, said | {"seed": 43, "settings": {}}]).split("\n")
    assert lines[3:5] == ["", table.TASK_HEADING.split("\n")[0]]
    assert lines[6] == (
        "| [g2p-kor-transformer](g2p-kor-transformer.toml) | 9.4 M | 6,000 | 51 s | 2 "
        "| WER 16.00 ± 0.00 · exact 84.00 ± 0.00 · PER 3.20 ± 0.00 "
        "| WER 17.00 ± 0.00 · exact 83.00 ± 0.00 · PER 3.50 ± 0.00 "
        "| WER 16.30, ensemble (SIGMORPHON 2021 baseline) |"
    )
    assert "- exact: `nrefs:1`" in lines


def test_the_agreement_of_draws_comes_before_the_beam() -> None:
    scores = {how: {"rouge1": value} for how, value in (("greedy", 20.0), ("beam5", 21.0), ("mbr64", 23.5))}
    summed = record(
        recipe="aeslc-transformer",
        settings={"training.max_steps": 9},
        test={"test": scores},
        signatures={"rouge1": "nrefs:1"},
    )
    assert table.draw_table([summed]).split("\n")[5].split(" | ")[-4:-1] == [
        "1",
        "ROUGE-1 23.50 (agreement of 64 draws), beam 5: ROUGE-1 21.00",
        "ROUGE-1 20.00",
    ]


def test_several_test_sets_of_a_task_share_its_row() -> None:
    def scores(dut: float, kor: float) -> dict[str, dict[str, float]]:
        return {"dut.test": {"exact": dut, "per": 3.0}, "kor.test": {"exact": kor, "per": 2.0}}

    def said(seed: int, beam: dict[str, Any], greedy: dict[str, Any]) -> dict[str, Any]:
        tests = {test: {"greedy": greedy[test], "beam5": beam[test]} for test in beam}
        return record(recipe="g2p-five-transformer", seed=seed, test=tests, signatures={"exact": "nrefs:1"})

    runs = [
        said(42, scores(84.0, 82.0), scores(83.0, 81.0)),
        said(43, scores(85.0, 82.0), scores(84.0, 81.0)),
    ]
    lines = table.draw_table(runs).split("\n")
    assert lines[5] == (
        "| [g2p-five-transformer](g2p-five-transformer.toml) | 9.4 M | 6,000 | 51 s | 2 "
        "| WER dut 15.50 ± 0.71 · kor 18.00 ± 0.00 | WER dut 16.50 ± 0.71 · kor 19.00 ± 0.00 "
        "| WER dut 14.70 · eng_us 41.94 · fre 8.50 · kor 16.30 · vie_hanoi 2.50, "
        "ensembles (SIGMORPHON 2021 baseline) |"
    )
    assert "| WER dut 16.00 · kor 18.00 |" in table.draw_table(runs[:1])


def test_a_signature_that_differs_is_told_with_its_recipe() -> None:
    other = record(recipe="multi30k-en-de-rnn", signatures={"bleu": "nrefs:5"})
    notes = table.draw_table([record(), record(recipe="multi30k-en-fr-rnn"), other]).split("\n")[-4:]
    assert "- BLEU cased (multi30k-en-de-rnn): `nrefs:5`" in notes


TINY = {
    "model.width": 16,
    "model.layers": 1,
    "text.vocabulary": 300,
    "training.max_steps": 4,
    "training.warmup": 1,
    "training.batch_tokens": 1000,
    "training.log_every": 1,
    "training.validate_every": 2,
    "decoding.max_len": 6,
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Multi30k in miniature."""
    folder = tmp_path / "data" / "multi30k"
    folder.mkdir(parents=True)
    draw, words = random.Random(1), [f"word{i}" for i in range(20)]
    for split, count in {"train": 60, "val": 5, **dict.fromkeys(job.FLICKR, 3)}.items():
        lines = [" ".join(draw.choices(words, k=5)) + "\n" for _ in range(count)]
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")
    return tmp_path / "data"


@pytest.mark.slow
def test_the_script_runs_ideas_side_by_side(data: Path, tmp_path: Path) -> None:
    ideas = [
        {"name": "cut", "set": {"text.dropout": 0.1, "training.average": 2, "training.save_every": 2}},
        {"name": "wrong", "set": {"model.widht": 8}},
    ]
    file, results = tmp_path / "ideas.jsonl", tmp_path / "out" / "results.jsonl"
    file.write_text("".join(json.dumps(idea) + "\n" for idea in ideas), encoding="utf-8")
    words = [f"--set={key}={value}" for key, value in TINY.items()]
    done = run_script(
        ROOT / "scripts" / "run_recipe.py",
        *[ROOT / "recipes" / "multi30k-de-en-rnn.toml", "--data", data, "--device", "cpu", "--jobs", 2],
        *["--try", file, "--penalty", 0.5, *words, "--out", tmp_path / "out", "--results", results],
    )
    found = {one["name"]: one for one in table.read_records(results)}
    good, bad = found["multi30k-de-en-rnn-cut-42"], found["multi30k-de-en-rnn-wrong-42"]
    assert done.returncode == 1, done.stderr  # one idea was wrong
    assert "unknown setting 'model.widht'" in bad["error"]
    assert "multi30k-de-en-rnn-cut-42: valid greedy bleu " in done.stdout
    assert (good["steps"], good["reason"], good["seed"]) == (4, "max_steps", 42)
    assert set(good["valid"]) == {"greedy", "beam5", "beam5 penalty 0.5"}
    assert list(good["test"]) == list(job.FLICKR)
    assert all({"bleu", "bleu-lc", "chrf"} == set(one["beam5"]) for one in good["test"].values())
    assert "case:lc" in good["signatures"]["bleu-lc"]
    assert all(value > 0 for value in good["seconds"].values())
    assert [point[0] for point in good["curve"]] == [2, 4, 4]  # the last is the mean of the checkpoints
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["prepared", "results.jsonl"]
    assert table.draw_table([good]).count("multi30k-de-en-rnn.toml") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["aeslc", "g2p-kor", "g2p-five", "questions", "flickr8k"])
def test_a_recipe_of_a_task_runs(name: str, tmp_path: Path) -> None:
    draw, used = random.Random(1), job.TASKS[name]
    folder = tmp_path / "data" / used.folder
    folder.mkdir(parents=True)
    counts = {"train": 40, used.valid: 4}
    if used.codes:
        counts = {f"{code}.{split}": count for code in used.codes for split, count in counts.items()}
    for split, count in {**counts, **dict.fromkeys(used.tests, 3)}.items():
        rows = [
            [f"{n % 5}.png", *(" ".join(draw.choices("abcd", k=4)) for _ in range(2))] for n in range(count)
        ]
        if not used.images:
            rows = [[f"한국{n}", row[1]] for n, row in enumerate(rows)]
        texts = ["\t".join(row) for row in rows]
        if name == "questions":
            texts = [json.dumps(dict(zip(("context", "question", "answer"), "abc", strict=True)))] * count
        (folder / used.file.format(split=split)).write_text("\n".join(texts) + "\n", encoding="utf-8")
    if used.images:
        with ZipFile(folder / used.images, "w") as images:
            for n in range(5):
                Image.new("RGB", (9, 7), (n, 50 * n, 9)).save(tmp_path / "one.png")
                images.write(tmp_path / "one.png", f"{n}.png")
    layers = {"model.encoder_layers": 1, "model.decoder_layers": 1, "model.heads": 2, "model.feedforward": 32}
    settings = {key: value for key, value in TINY.items() if key != "model.layers"} | layers
    small = {"training.valid_sentences": 2, "training.batch_tokens": 4000, "training.rdrop": 0.0}
    done = job.carry_out(
        job.Job(
            name="one",
            recipe=str(FOLDER / f"{name}-transformer.toml"),
            data=str(tmp_path / "data"),
            out=str(tmp_path / "out"),
            settings=settings | small,
            device="cpu",
        )
    )
    assert list(done["test"]) == list(used.tests)
    best = "mbr64" if name == "aeslc" else "beam5"
    scored = [done["valid"]["greedy"], *(found[best] for found in done["test"].values())]
    assert all(set(found) == set(used.metrics) for found in scored)
    assert (done["steps"], done["curve"][-1][0]) == (4, 4)
    assert all(isinstance(value, float) for value in done["curve"][-1][1:])
    assert table.draw_table([done]).count(f"{name}-transformer.toml") == 1
    if used.images:
        assert "nrefs:2" in done["signatures"]["bleu"]
