"""OpenNMT-py, eole and transformers' Trainer for cpu_training.py: installed, set up alike, run and read.

Each has an environment of its own, made once. OpenNMT-py and eole are timed by the rates that they print,
which count tokens without padding; the Trainer by trainer_marian.py.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from contest import MissingError

PEERS = {
    "OpenNMT-py": ("OpenNMT-py==3.5.1", "torch==2.2.2", "numpy==1.26.4", "setuptools<81"),
    "eole": ("eole==0.6.4", "aiohttp==3.14.5", "setuptools<81"),
    "transformers": ("transformers==5.22.2", "accelerate==1.15.0", "torch==2.13.0"),
    "transformers bf16": (),  # the same
}
EVERY = 2  # updates between two lines of a log
RATES = re.compile(r"Step (\d+)/.*?(\d+)/ *(\d+) tok/s")


@dataclass(frozen=True)
class Slice:
    """One turn of a contestant."""

    seconds: float
    tokens: int = 4096  # that ours fills an update up to,
    wanted: float = 0.0  # and what that makes on average, as tokens count here: no ends of sources
    threads: int = 2
    warm: int = 5  # updates before the clock runs
    rate: float = 3e-4
    smoothing: float = 0.1
    seed: int = 1


@dataclass(frozen=True)
class Reading:
    """What a turn gave. places: tokens and padding, 0 if not known; memory in bytes; cpu: its seconds."""

    tokens: float
    seconds: float
    steps: int
    places: float
    memory: float
    cpu: float = 0.0


@dataclass(frozen=True)
class Corpus:
    """The pairs as pieces, and in a folder as files: pairs.npz, source.txt, target.txt, vocabulary.txt."""

    source: Sequence[Sequence[int]]
    target: Sequence[Sequence[int]]
    vocabulary: int
    folder: Path

    @classmethod
    def write(
        cls, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]], vocabulary: int, into: Path
    ) -> "Corpus":
        arrays: dict[str, Any] = {"vocabulary": np.array(vocabulary)}
        for name, side in (("source", source), ("target", target)):
            arrays[name] = np.concatenate([np.asarray(ids, dtype=np.int32) for ids in side])
            arrays[f"{name}_ends"] = np.cumsum([len(ids) for ids in side])
            lines = (" ".join(f"t{piece}" for piece in ids) for ids in side)
            (into / f"{name}.txt").write_text("\n".join(lines) + "\n")
        np.savez(into / "pairs.npz", **arrays)
        (into / "vocabulary.txt").write_text("".join(f"t{piece}\t1\n" for piece in range(4, vocabulary)))
        return cls(source, target, vocabulary, into)

    @classmethod
    def read(cls, folder: Path) -> "Corpus":
        data = np.load(folder / "pairs.npz")
        sides = [np.split(data[name], data[f"{name}_ends"][:-1]) for name in ("source", "target")]
        return cls(sides[0], sides[1], int(data["vocabulary"]), folder)


def installed(name: str, envs: Path) -> Path:
    """The folder of a peer's programs, made first if it is not there. MissingError if it cannot be."""
    name = name.removesuffix(" bf16")
    folder = envs / name
    done = folder / "installed"
    if not done.exists():
        print(f"  installing {name} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [str(folder / "bin" / "pip"), "install", "-q", *PEERS[name]]
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
        if tried.returncode:
            said = [text for text in tried.stderr.splitlines() if "ERROR" in text] or ["pip says nothing"]
            raise MissingError(f"cannot be installed: {said[-1][:160]}")
        done.touch()
    return folder / "bin"


def run_peer(name: str, given: dict[str, Any], envs: Path) -> Reading:
    """One turn of a peer."""
    programs = installed(name, envs)
    slice_, corpus = Slice(**given["slice"]), Path(given["corpus"])
    if name.startswith("transformers"):
        return run_trainer(programs, given["model"], slice_, corpus, bf16=name.endswith("bf16"))
    settings = corpus / f"{name}.yaml"
    make = opennmt_settings if name == "OpenNMT-py" else eole_settings
    slice_ = replace(slice_, tokens=batch_size(corpus, slice_.wanted))
    settings.write_text(json.dumps(make(given["model"], slice_, corpus)))  # JSON is YAML
    program = ["onmt_train"] if name == "OpenNMT-py" else ["eole", "train"]
    command = [str(programs / program[0]), *program[1:], "-config", str(settings)]
    return read_log(command, slice_)


def environment(slice_: Slice) -> dict[str, str]:
    """Peers wait as torch lets them wait; only the number of threads is said."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    return {
        **kept,
        "OMP_NUM_THREADS": str(slice_.threads),
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
    }


def versions_of(name: str, envs: Path) -> dict[str, str]:
    """Every package of a peer's environment, none if it could not be made."""
    pip = envs / name.removesuffix(" bf16") / "bin" / "pip"
    if not pip.exists():
        return {}
    command = [str(pip), "list", "--format=json", "--disable-pip-version-check"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    return {one["name"]: one["version"] for one in json.loads(listed.stdout)}


def run_trainer(programs: Path, model: dict[str, Any], slice_: Slice, corpus: Path, *, bf16: bool) -> Reading:
    data = np.load(corpus / "pairs.npz")
    pairs = len(data["source_ends"])
    mean = (len(data["source"]) + len(data["target"])) / pairs + 1
    given = {
        **vars(slice_),
        "bf16": bf16,
        "sentences": max(1, round(slice_.wanted / mean)),
        "layers": model["encoder_layers"],
        "width": model["width"],
        "heads": model["heads"],
        "feedforward": model["feedforward"],
        "dropout": model["dropout"],
        "vocabulary": int(data["vocabulary"]),
        "pairs": str(corpus / "pairs.npz"),
        "folder": str(corpus / "trainer"),
    }
    script = Path(__file__).with_name("trainer_marian.py")
    command = [str(programs / "python"), "-P", str(script), json.dumps(given)]
    done = subprocess.run(command, env=environment(slice_), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "it ended without a word").splitlines()[-1])
    return Reading(**json.loads(done.stdout.splitlines()[-1]))


def batch_size(corpus: Path, wanted: float) -> int:
    """The size of OpenNMT-py's and eole's batches, sentences times the longest side, for so many tokens each.

    Their way to fill batches from sorted pairs, gone through with several sizes.
    """
    data = np.load(corpus / "pairs.npz")
    source, target = (np.diff(data[f"{side}_ends"], prepend=0) for side in ("source", "target"))
    order = np.lexsort((source, target))
    longer = np.maximum(source, target + 2)[order]  # a target has its begin and its end there

    def mean(size: int) -> float:
        batches, count, longest = 1, 0, 0
        for length in longer.tolist():
            count, longest = count + 1, max(longest, length)
            if count * longest > size:
                batches, count, longest = batches + 1, 1, length
        return float((source + target + 1).sum() / batches)

    return min(range(int(wanted / 3), int(wanted), 16), key=lambda size: abs(mean(size) - wanted))


def common(slice_: Slice) -> dict[str, Any]:
    """What both call alike."""
    return {
        "batch_type": "tokens",
        "batch_size": slice_.tokens,
        "normalization": "tokens",
        "bucket_size": 29_000,  # all of Multi30k, so that batches are of like lengths
        "num_workers": 0,
        "optim": "adam",
        "learning_rate": slice_.rate,
        "label_smoothing": slice_.smoothing,
        "max_grad_norm": 1.0,
        "accum_count": [1],
        "train_steps": 1_000_000,
        "save_checkpoint_steps": 1_000_000,
        "seed": slice_.seed,
    }


def opennmt_settings(model: dict[str, Any], slice_: Slice, corpus: Path) -> dict[str, Any]:
    return {
        **common(slice_),
        "data": {"corpus": {"path_src": str(corpus / "source.txt"), "path_tgt": str(corpus / "target.txt")}},
        "src_vocab": str(corpus / "vocabulary.txt"),
        "tgt_vocab": str(corpus / "vocabulary.txt"),
        "share_vocab": True,
        "save_model": str(corpus / "opennmt"),
        "report_every": EVERY,
        "world_size": 1,
        "gpu_ranks": [],
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "enc_layers": model["encoder_layers"],
        "dec_layers": model["decoder_layers"],
        "heads": model["heads"],
        "hidden_size": model["width"],
        "word_vec_size": model["width"],
        "transformer_ff": model["feedforward"],
        "dropout": [model["dropout"]],
        "attention_dropout": [0.0],
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "param_init_glorot": True,
        "param_init": 0.0,
    }


def eole_settings(model: dict[str, Any], slice_: Slice, corpus: Path) -> dict[str, Any]:
    return {
        "data": {"corpus": {"path_src": str(corpus / "source.txt"), "path_tgt": str(corpus / "target.txt")}},
        "src_vocab": str(corpus / "vocabulary.txt"),
        "tgt_vocab": str(corpus / "vocabulary.txt"),
        "share_vocab": True,
        "overwrite": True,
        "report_every": EVERY,
        "seed": slice_.seed,
        "training": {
            **{key: value for key, value in common(slice_).items() if key != "seed"},
            "model_path": str(corpus / "eole"),
            "world_size": 1,
            "gpu_ranks": [],
            "dropout": [model["dropout"]],
            "attention_dropout": [0.0],
            "compute_dtype": "fp32",
        },
        "model": {
            "architecture": "transformer",
            "layers": model["encoder_layers"],
            "heads": model["heads"],
            "hidden_size": model["width"],
            "transformer_ff": model["feedforward"],
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {
                "word_vec_size": model["width"],
                "position_encoding_type": "SinusoidalInterleaved",
            },
        },
    }


def read_log(command: Sequence[str], slice_: Slice) -> Reading:
    """Run a trainer until its time is up; its rates, each for as long as it stood for."""
    process = subprocess.Popen(
        command,
        env=environment(slice_),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    tokens, spent, steps, last, peak, tail = 0.0, 0.0, 0, 0.0, 0, ""
    cpu = before = 0.0
    try:
        for text in process.stdout:
            tail = text.strip() or tail
            match = RATES.search(text)
            if match is None:
                continue
            now, peak = perf_counter(), max(peak, peak_of(process.pid))
            step, rate = int(match[1]), int(match[2]) + int(match[3])
            if last and step > slice_.warm:
                tokens, spent, steps = tokens + rate * (now - last), spent + now - last, steps + EVERY
                cpu += cpu_of(process.pid) - before
            last, before = now, cpu_of(process.pid)
            if spent >= slice_.seconds:
                break
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not steps:
        raise RuntimeError(f"no rate in its log; it ends with: {tail[:160]}")
    return Reading(tokens, spent, steps, 0, peak, cpu)


def peak_of(process: int) -> int:
    """Bytes that a process has had at most; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def cpu_of(process: int) -> float:
    """Seconds of processor time that all threads of a process have had; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
