"""How exact, how quick and how small is `jumok import`? Models are made here by their own library.

    python -m benchmarks.import families  [--json FILE]        # logits at real widths, against transformers
    python -m benchmarks.import large     [--json FILE]        # seconds and memory of 300 million weights
    python -m benchmarks.import cuts DATA [--json FILE]        # SentencePiece against the library tokenizers

DATA is the folder with `multi30k`, `libreoffice-help-de-en`, `homeassistant-ko-en` and `small-enja`.
`families` have random weights at the widths, heads and inner widths of the published models, two layers a
side, and small vocabularies. benchmarks/import_trained.py has models that have learned something.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.importing.families import MAKERS, sentences

from jumok.importing.model import import_model

BASE = {"layers": 2, "positions": 512}
REAL: dict[str, dict[str, int]] = {
    "marian": {"width": 512, "heads": 8, "inner": 2048, **BASE},
    "bart": {"width": 768, "heads": 12, "inner": 3072, **BASE},
    "mbart50": {"width": 1024, "heads": 16, "inner": 4096, **BASE},
    "mbart25": {"width": 1024, "heads": 16, "inner": 4096, **BASE},
    "m2m100": {"width": 1024, "heads": 16, "inner": 4096, **BASE},
    "nllb": {"width": 1024, "heads": 16, "inner": 4096, **BASE},
    "pegasus": {"width": 1024, "heads": 16, "inner": 4096, **BASE},
    "t5": {"width": 768, "heads": 12, "inner": 3072, **BASE},
    "t5 v1.1": {"width": 768, "heads": 12, "inner": 2048, **BASE},
    "mt5": {"width": 768, "heads": 12, "inner": 2048, **BASE},
}
LANGUAGES = {
    "en": ("libreoffice-help-de-en", "train.en.gz"),
    "de": ("libreoffice-help-de-en", "train.de.gz"),
    "fr": ("multi30k", "train.fr.gz"),
    "ko": ("homeassistant-ko-en", "train.ko.gz"),
    "ja": ("small-enja", "train.ja.gz"),
}
LINES = 10_000


def families(work: Path) -> dict[str, Any]:
    """The largest difference of a logit of each family at its real width."""
    file = work / "lines.txt"
    file.write_text("\n".join(sentences(6)), encoding="utf-8")
    found = {}
    for name, sizes in REAL.items():
        folder = work / "brought"
        folder.mkdir()
        MAKERS[name](folder, sizes)
        result = import_model(folder, work / "ours", source=file, overwrite=True)
        weights = (work / "ours" / "model.safetensors").stat().st_size // 4
        found[name.replace(" ", "_").replace(".", "_")] = {
            "weights": weights,
            "sentences": result["sentences"],
            "equal": result["equal"],
            "same_tokens": result["same_tokens"],
            "logits": result["largest_logit_difference"],
        }
        print(name, found[name.replace(" ", "_").replace(".", "_")], flush=True)
        shutil.rmtree(folder)
    return found


def lines_of(data: Path, folder: str, name: str) -> list[str]:
    with gzip.open(data / folder / name, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def large(work: Path) -> dict[str, Any]:
    """Seconds and peak memory of an import in a process of its own; the library is not asked."""
    folder = work / "brought"
    folder.mkdir()
    MAKERS["mbart50"](folder, {"width": 1024, "heads": 16, "inner": 4096, "layers": 10, "positions": 1024})
    size = sum(path.stat().st_size for path in folder.iterdir())
    code = "import sys, time; begin = time.perf_counter(); from jumok.importing.model import import_model; "
    code += (
        "import_model(sys.argv[1], sys.argv[2]); print(time.perf_counter() - begin, time.process_time()); "
    )
    code += "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(work / "ours")],
        check=True,
        capture_output=True,
        text=True,
    )
    seconds, processor, kibibytes = map(float, done.stdout.split()[-3:])
    peak = int(kibibytes * 1024)
    found = {
        "weights": (work / "ours" / "model.safetensors").stat().st_size // 4,
        "bytes": size,
        "seconds": seconds,
        "processor_seconds": processor,
        "peak_bytes": peak,
        "peak_share": peak / size,
        "load": os.getloadavg()[0],
    }
    print(found, flush=True)
    return found


def cuts(work: Path, data: Path) -> dict[str, Any]:
    """Of 10,000 lines in six languages, a third of them with rare characters: how many are cut differently by
    the library tokenizers than by SentencePiece, and by us."""
    import sentencepiece
    import tokenizers
    from babel import Locale

    from jumok.text.foreign import ForeignTokenizer
    from jumok.text.foreign_form import ForeignForm, TextCut
    from jumok.text.normalize import tidy

    draw = random.Random(7)
    texts = {code: lines_of(data, *place)[:20_000] for code, place in LANGUAGES.items()}
    names = [name for code in ("hi", "th", "ar") for name in Locale(code).territories.values()]
    texts["hi, th, ar"] = [" ".join(draw.choice(names) for _ in range(6)) for _ in range(5000)]
    every = [line for lines in texts.values() for line in lines]
    draw.shuffle(every)
    (work / "train.txt").write_text("\n".join(every[:40_000]), encoding="utf-8")
    rare = [
        chr(c)
        for c in (*range(0xA0, 0x3000, 7), *range(0xFB00, 0xFFEE, 5), *range(0x1F300, 0x1F6FF, 9), 0x200D)
    ]
    sample = [draw.choice(lines) for lines in texts.values() for _ in range(LINES // len(texts))]
    for n in range(0, len(sample), 3):
        for _ in range(3):
            at = draw.randrange(len(sample[n]) + 1)
            sample[n] = sample[n][:at] + draw.choice([*rare, "  ", " "]) + sample[n][at:]
    sample = [tidy(line) for line in sample]
    found: dict[str, Any] = {"lines": len(sample)}
    for kind in ("unigram", "bpe"):
        sentencepiece.SentencePieceTrainer.train(
            input=str(work / "train.txt"), model_prefix=str(work / kind), model_type=kind, vocab_size=8000,
            character_coverage=0.9995, minloglevel=2, num_threads=2,
        )  # fmt: skip
        path = work / f"{kind}.model"
        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        theirs = model.encode(sample, out_type=str)
        pieces = [model.id_to_piece(i) for i in range(3, len(model))]
        form = ForeignForm(tuple(pieces), (), "spaces", (TextCut(sentencepiece=path.read_bytes()),))
        ours = ForeignTokenizer(form)
        known = {piece: 260 + i for i, piece in enumerate(pieces)}
        wanted = [[known.get(piece, 3) for piece in one] for one in theirs]
        library = by_library(model, path, tokenizers)
        cut = [[known.get(token, 3) for token in one.tokens] for one in library.encode_batch(sample)]
        found[kind] = {
            "ours": sum(a != b for a, b in zip(ours.encode_tidied(sample), wanted, strict=True)),
            "library": sum(a != b for a, b in zip(cut, wanted, strict=True)),
        }
        print(kind, found[kind], flush=True)
    return found


def by_library(model: Any, path: Path, tokenizers: Any) -> Any:
    """The same model for the library tokenizers, as transformers converts it."""
    from sentencepiece import sentencepiece_model_pb2

    said = sentencepiece_model_pb2.ModelProto()
    said.ParseFromString(path.read_bytes())
    names = {piece.piece: i for i, piece in enumerate(said.pieces)}
    if said.trainer_spec.model_type == 1:
        made = tokenizers.models.Unigram([(piece.piece, piece.score) for piece in said.pieces], unk_id=0)
    else:
        merges = []
        for piece in (one.piece for one in said.pieces if one.type == 1):
            halves = [(piece[:k], piece[k:]) for k in range(1, len(piece))]
            known = [(a, b) for a, b in halves if a in names and b in names]
            merges += sorted(known, key=lambda pair: (names[pair[0]], names[pair[1]]))
        made = tokenizers.models.BPE(names, merges, unk_token="<unk>", fuse_unk=True)
    library = tokenizers.Tokenizer(made)
    steps = tokenizers.normalizers
    library.normalizer = steps.Sequence(
        [
            steps.Precompiled(said.normalizer_spec.precompiled_charsmap),
            steps.Replace(tokenizers.Regex(" {2,}"), " "),
            steps.Strip(),
            steps.Prepend("▁"),
            steps.Replace(" ", "▁"),
        ]
    )
    return library


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["families", "large", "cuts"])
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--json", type=Path, help="readings; other parts of the file stay")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        match options.what:
            case "families":
                found = families(work)
            case "large":
                found = large(work)
            case _:
                found = cuts(work, options.data)
    if options.json:
        known = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(
            json.dumps({**known, options.what: found}, indent=1, ensure_ascii=False) + "\n"
        )


if __name__ == "__main__":
    main()
