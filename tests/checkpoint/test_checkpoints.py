"""The previous checkpoint always survives, and a damaged one is never used."""

import json
import logging
import random
from pathlib import Path

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.processes import run_code
from torch import Tensor

from jumok.checkpoint.card import model_files
from jumok.checkpoint.checkpoints import Checkpoint, Checkpoints, average, load_model
from jumok.checkpoint.manifest import checkpoint_folders, content_fingerprint, verify_folder, was_best
from jumok.config import LuongConfig, RunConfig, TextConfig
from jumok.errors import ConfigError, ModelError, RunError
from jumok.models.build import build_model
from jumok.text.tokenizer import Tokenizers, train_tokenizer

FILES = {"config.json": b'{"model_type": "jumok"}\n', "README.md": b"# a model\n"}


def weights(step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(step)
    return {"a.weight": torch.randn(3, 4, generator=generator), "count": torch.tensor(step)}


def save(checkpoints: Checkpoints, step: int, *, best: bool = False, **options: object) -> Path:
    return checkpoints.save(
        step,
        model=weights(step),
        optimizer={"momentum": torch.full((5,), float(step))},
        state={"epoch": step // 10, "cursor": [step, 2]},
        files=FILES,
        best=best,
        **options,  # type: ignore[arg-type]
    )


def check(checkpoint: Checkpoint | None, step: int) -> None:
    """It is the checkpoint of this step, bit for bit."""
    assert checkpoint is not None
    assert checkpoint.step == step
    for name, tensor in checkpoint.tensors().items():
        assert torch.equal(tensor, weights(step)[name])
    assert checkpoint.optimizer()["momentum"].tolist() == [float(step)] * 5
    assert checkpoint.state == {"epoch": step // 10, "cursor": [step, 2]}


def steps(run: Path) -> list[int]:
    return list(checkpoint_folders(run))


def leftovers(run: Path) -> list[str]:
    known = ("step-", "best.json", "latest.json")
    names = [entry.name for entry in (run / "checkpoints").iterdir()]
    return [name for name in names if not name.startswith(known) or ".tmp-" in name or ".old-" in name]


def best_of(checkpoints: Checkpoints) -> Checkpoint | None:
    """The newest whole checkpoint that was the best when it was saved."""
    return next((one for one in checkpoints.recent(100) if was_best(one.folder)), None)


def test_a_run_without_checkpoints_has_none(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "run")
    assert (checkpoints.newest(), checkpoints.recent(3)) == (None, [])
    assert not (tmp_path / "run").exists()


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    folder = save(checkpoints, 1200, best=True, score=31.5)
    assert folder == tmp_path / "checkpoints" / "step-00001200"
    assert verify_folder(folder) == []
    check(checkpoints.newest(), 1200)
    check(best_of(Checkpoints(tmp_path)), 1200)
    assert json.loads((folder / "state.json").read_text())["score"] == 31.5
    hint = {"step": 1200, "score": 31.5}
    assert json.loads((tmp_path / "checkpoints" / "best.json").read_text()) == hint
    assert json.loads((tmp_path / "checkpoints" / "latest.json").read_text()) == hint


def test_the_newest_the_best_and_the_protected_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    for step in range(1, 8):
        save(checkpoints, step, best=step in (1, 3), protect=[4])
    assert steps(tmp_path) == [7, 6, 4, 3]
    check(best_of(checkpoints), 3)
    check(checkpoints.newest(), 7)
    assert [checkpoint.step for checkpoint in checkpoints.recent(3)] == [7, 6, 4]
    save(checkpoints, 8, best=True)
    assert steps(tmp_path) == [8, 7]


def test_at_least_two_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=1)
    for step in range(4):
        save(checkpoints, step)
    assert steps(tmp_path) == [3, 2]


def test_saving_a_step_again(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    folder = save(checkpoints, 5)
    before = content_fingerprint(folder)
    save(checkpoints, 5)
    assert content_fingerprint(folder) == before
    save(checkpoints, 5, best=True)  # the same weights turned out to be the best
    check(best_of(checkpoints), 5)
    (folder / "MANIFEST.json").unlink()
    save(checkpoints, 5)
    check(checkpoints.newest(), 5)


def test_bad_numbers_are_never_saved(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1)
    for model, optimizer in (({"w": torch.tensor(torch.nan)}, {}), ({}, {"m": torch.tensor(torch.inf)})):
        with pytest.raises(RunError, match="not finite") as caught:
            checkpoints.save(2, model=model, optimizer=optimizer, state={}, files={}, best=True)
        assert caught.value.code == "non_finite"
    assert [entry.name for entry in checkpoints.folder.iterdir()].count("step-00000002") == 0
    check(checkpoints.newest(), 1)


def test_every_flipped_bit_and_every_cut_is_found(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1)
    folder = save(checkpoints, 2)
    chance = random.Random(7)
    files = {path: path.read_bytes() for path in folder.iterdir()}
    for i in range(360):
        path = list(files)[i % len(files)]
        data = bytearray(files[path])
        if i < 300:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            del data[chance.randrange(len(data)) :]
        path.write_bytes(data)
        caplog.clear()
        check(checkpoints.newest(), 1)
        assert f"{folder} is damaged (" in caplog.text
        assert "an older checkpoint is used" in caplog.text
        path.write_bytes(files[path])
    check(Checkpoints(tmp_path).newest(), 2)


def test_a_damaged_checkpoint_does_not_count_as_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (1, 2, 3):
        save(checkpoints, step)
    for step in (2, 3):
        (tmp_path / "checkpoints" / f"step-{step:08d}" / "state.json").write_text("{}")
    resumed = Checkpoints(tmp_path)
    check(resumed.newest(), 1)
    save(resumed, 2)
    assert steps(tmp_path) == [2, 1]  # not 3 and 2


def test_if_all_are_damaged_the_loss_is_told(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    folder = save(checkpoints, 1)
    (folder / "state.json").unlink()
    with pytest.raises(ModelError) as caught:
        checkpoints.newest()
    assert str(caught.value) == (
        f"none of the run's 1 checkpoints is whole\n  {tmp_path / 'checkpoints'}\n"
        "  copy the run folder again from where it was whole, or start over with --fresh"
    )
    (tmp_path / "trash-checkpoints-00ff").mkdir()  # an earlier start over was broken off
    for name in ("run.json", "config.toml"):  # and so was the beginning of the run
        (tmp_path / f"{name}.tmp-00ff").touch()
    checkpoints.clear()
    assert checkpoints.newest() is None
    assert [entry.name for entry in tmp_path.iterdir()] == [".lock"]


def test_a_strange_file_in_a_checkpoint_does_no_harm(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    folder = save(checkpoints, 1)
    (folder / ".DS_Store").touch()
    check(checkpoints.newest(), 1)


def test_state_of_the_wrong_type_is_damage(tmp_path: Path) -> None:
    from jumok.checkpoint.folder import write_folder

    write_folder(tmp_path / "m", {"state.json": b'{"training": 7, "score": "x"}'})
    checkpoint = Checkpoint(tmp_path / "m", 1)
    with pytest.raises(ModelError, match="state.json is damaged: it holds no training state"):
        assert checkpoint.state
    assert not was_best(checkpoint.folder)


def test_a_second_trainer_is_kept_out_and_its_leftovers_are_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Checkpoints(tmp_path), Checkpoints(tmp_path)
    save(first, 1)
    work = first.folder / "step-00000002.tmp-abcd"
    work.mkdir()
    with first.lock():
        with pytest.raises(RunError, match="another process is training in this folder"), second.lock():
            pass
        with caplog.at_level(logging.INFO, "jumok"):
            check(second.newest(), 1)
        assert f"leftovers stay in {second.folder}: another process is training" in caplog.text
        assert work.exists()  # the first may be writing it
        check(first.newest(), 1)
        assert not work.exists()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot write"), Checkpoints(tmp_path / "file").lock():
        pass


CRASH = """
import os, shutil, sys
from pathlib import Path
import torch
from jumok.checkpoint.checkpoints import Checkpoints

mode, work = sys.argv[1], Path(sys.argv[2])
torch.set_num_threads(1)

def save(run, step, best):
    generator = torch.Generator().manual_seed(step)
    Checkpoints(run).save(
        step,
        model={"a.weight": torch.randn(3, 4, generator=generator), "count": torch.tensor(step)},
        optimizer={"momentum": torch.full((5,), float(step))},
        state={"epoch": step // 10, "cursor": [step, 2]},
        files={"README.md": b"# a model"},
        best=best,
    )

def arm(point):
    # The process ends at its n-th change of the disk: before it, or with the data half written ("torn").
    seen = 0
    def count(descriptor=None):
        nonlocal seen
        seen += 1
        if seen == point:
            if mode == "torn" and descriptor is not None and os.fstat(descriptor).st_size:
                try:
                    os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
                except OSError:
                    pass
            os._exit(9)
    def hook(event, arguments):
        writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir"):
            count()
    fsync = os.fsync
    def counted_fsync(descriptor):
        count(descriptor)
        fsync(descriptor)
    os.fsync = counted_fsync
    sys.addaudithook(hook)

template = work / "template"
if mode == "again":
    save(template, 2, False)
else:
    for step in (1, 2, 3):
        save(template, step, step == 1)
for point in range(1, 500):
    run = work / str(point)
    shutil.copytree(template, run)
    child = os.fork()
    if child == 0:
        arm(point)
        save(run, 2 if mode == "again" else 4, True)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
"""


@pytest.mark.parametrize("mode", ["before", "torn", "again"])
def test_a_crash_at_every_moment_of_saving(tmp_path: Path, mode: str) -> None:
    done = run_code(CRASH, mode, tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [run for run in tmp_path.iterdir() if run.name != "template"]
    assert len(runs) > 15
    found = set()
    for run in runs:
        checkpoints = Checkpoints(run)
        newest = checkpoints.newest()
        assert newest is not None
        check(newest, newest.step)
        found.add((newest.step, was_best(newest.folder)))
        best = best_of(checkpoints)
        if mode != "again":
            assert best is not None
            assert best.step == (4 if newest.step == 4 else 1)  # the best goes with its checkpoint
        assert leftovers(run) == []
    save(checkpoints, 5)
    check(checkpoints.newest(), 5)
    assert found == ({(2, False), (2, True)} if mode == "again" else {(3, False), (4, True)})


KILL = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from jumok.checkpoint.checkpoints import Checkpoints

run, rounds = Path(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
chance, begin = random.Random(3), 0
for _ in range(rounds):
    ready, child_end = os.pipe()
    child = os.fork()
    if child == 0:
        checkpoints = Checkpoints(run)
        with checkpoints.lock():
            for step in range(begin + 1, begin + 1000):
                checkpoints.save(step, model={"w": torch.full((300, 300), float(step))}, optimizer={},
                                 state={"step": step}, files={}, best=step % 3 == 0)
                os.write(child_end, b".")
        os._exit(1)
    os.read(ready, 1)
    time.sleep(chance.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(child_end)
    done = 1 + len(os.read(ready, 4096) or b"")
    os.close(ready)
    newest = Checkpoints(run).newest()
    assert newest.step in (begin + done, begin + done + 1), (newest.step, begin, done)
    assert newest.tensors()["w"].unique().tolist() == [newest.step] and newest.state == {"step": newest.step}
    names = [entry.name for entry in (run / "checkpoints").iterdir()]
    assert not [name for name in names if ".tmp-" in name or name.startswith("trash-")], names
    begin = newest.step
print("survived", rounds)
"""


def test_killed_at_random_moments(tmp_path: Path) -> None:
    result = run_code(KILL, tmp_path, 25)
    assert result.stdout == "survived 25\n", result.stderr


LIMIT = """
import resource, sys
from pathlib import Path
import torch
from jumok.checkpoint.checkpoints import Checkpoints
from jumok.errors import RunError

checkpoints = Checkpoints(Path(sys.argv[1]))
def save(step, size):
    checkpoints.save(step, model={"w": torch.zeros(size)}, optimizer={}, state={}, files={}, best=False)
save(1, 10)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for _ in range(2):
    try:
        save(2, 100_000)
    except RunError as error:
        print(error.code, error.message)
print([path.name for path in sorted(checkpoints.folder.iterdir())], checkpoints.newest().step)
"""


def test_a_limit_on_file_sizes_is_a_full_disk(tmp_path: Path) -> None:
    result = run_code(LIMIT, tmp_path)
    full = "disk_full the disk is full: cannot save step-00000002\n"
    assert result.stdout == f"{full}{full}['latest.json', 'step-00000001'] 1\n", result.stderr


def test_average_is_the_mean(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step in (1, 2, 3):
        save(checkpoints, step)
    mean = average(checkpoints.recent(3))
    expected = sum(weights(step)["a.weight"].double() for step in (1, 2, 3)) / 3
    assert torch.equal(mean["a.weight"], expected.float())
    assert mean["count"].item() == 3  # whole numbers come from the newest
    alone = average(checkpoints.recent(1))
    assert all(torch.equal(alone[name], tensor) for name, tensor in weights(3).items())


def test_different_models_have_no_average(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1)
    checkpoints.save(2, model={"b": torch.ones(1)}, optimizer={}, state={}, files={}, best=False)
    with pytest.raises(ModelError, match="checkpoints of different models cannot be averaged"):
        average(checkpoints.recent(2))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with three checkpoints of a real model; the second is the best."""
    tokenizer = train_tokenizer(["a b c", "b c d"] * 5, TextConfig(vocabulary=300))
    config = RunConfig(model=LuongConfig(width=8, layers=1))
    checkpoints = Checkpoints(tmp_path / "en-de", keep=3)
    for step in (1, 2, 3):
        torch.manual_seed(step)
        model = build_model(config.model, tokenizer.size, tokenizer.size, shared=True)
        files = model_files(config, Tokenizers(tokenizer, tokenizer), {"step": step})
        checkpoints.save(step, model=model.state_dict(), optimizer={}, state={}, files=files, best=step == 2)
    return tmp_path / "en-de"


def test_a_run_gives_its_best_checkpoint(run: Path) -> None:
    loaded = load_model(str(run))
    assert loaded.folder.name == "step-00000002"
    assert loaded.info["step"] == 2
    assert load_model(run / "checkpoints" / "step-00000003").info["step"] == 3


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "MANIFEST.json"])
def test_a_damaged_best_checkpoint_is_passed_over(
    run: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = run / "checkpoints" / "step-00000002" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING, logger="jumok"):
        assert load_model(run).info["step"] == 3
    assert name == "MANIFEST.json" or name in caplog.text
    assert str(path.parent) in caplog.text
    assert "step-00000003 is used instead" in caplog.text


def test_if_no_checkpoint_can_be_used_the_first_fault_is_told(run: Path) -> None:
    for folder in checkpoint_folders(run).values():
        (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="model.safetensors was cut short: 0 of ") as caught:
        load_model(run)
    assert "step-00000002" in caught.value.where


def test_a_missing_model_is_told_with_the_nearest_name(run: Path) -> None:
    with pytest.raises(ModelError, match="there is no model folder .*en-dd\n  did you mean 'en-de'?"):
        load_model(run.with_name("en-dd"))
    (run.parent / "new" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ModelError, match="the run .*new has no checkpoint yet"):
        load_model(run.parent / "new")


class Store(RuleBasedStateMachine):
    """Saving, damage, leftovers and restarts in any order; compared with a list of what must be true."""

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.temporary = tempfile.TemporaryDirectory()
        self.run = Path(self.temporary.name)
        self.checkpoints = Checkpoints(self.run)
        self.whole: dict[int, bool] = {}  # step -> was the best
        self.step = 0

    def teardown(self) -> None:
        self.temporary.cleanup()

    @rule(best=st.booleans(), gap=st.integers(1, 3))
    def save(self, gap: int, *, best: bool) -> None:
        self.step += gap
        save(self.checkpoints, self.step, best=best)
        self.whole[self.step] = best
        there = set(steps(self.run))
        ordered = sorted(self.whole, reverse=True)
        bests = [step for step in ordered if self.whole[step]]
        assert there >= {*ordered[:2], *bests[:1]}
        self.whole = {step: was for step, was in self.whole.items() if step in there}

    @precondition(lambda self: len(self.whole) > 1)
    @rule(data=st.data())
    def damage_and_restart(self, data: st.DataObject) -> None:
        step = data.draw(st.sampled_from(sorted(self.whole)))
        folder = checkpoint_folders(self.run)[step]
        path = data.draw(st.sampled_from(sorted(folder.iterdir())))
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        del self.whole[step]
        self.restart()

    @rule(name=st.sampled_from(["step-00000001.tmp-ab", "trash-step-00000001-ab", "best.json.tmp-ab"]))
    def crash_and_restart(self, name: str) -> None:
        if self.checkpoints.folder.exists():
            (self.checkpoints.folder / name).mkdir(exist_ok=True)
        self.restart()

    def restart(self) -> None:
        self.checkpoints = Checkpoints(self.run)
        newest = self.checkpoints.newest()
        self.step = newest.step if newest else 0
        assert not self.checkpoints.folder.exists() or leftovers(self.run) == []

    @invariant()
    def the_newest_and_the_best_are_known(self) -> None:
        if not self.whole:
            assert self.checkpoints.newest() is None
            return
        check(self.checkpoints.newest(), max(self.whole))
        best = best_of(self.checkpoints)
        bests = [step for step, was in self.whole.items() if was]
        assert (best.step if best else None) == max(bests, default=None)


TestStore = Store.TestCase
TestStore.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
