"""Folders of other programs' models, made by those programs: each family at any size, with random weights."""

import json
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SIZES: Mapping[str, int] = {"width": 32, "heads": 4, "inner": 48, "layers": 2, "positions": 64}


def training_lines() -> list[str]:
    """Sentences in English and Korean: those of our own pages."""
    texts = [(ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("terms.md", "terms.ko.md")]
    return [line.strip() for text in texts for line in text.splitlines() if len(line.split()) > 2]


def sentences(count: int) -> list[str]:
    """Sentences to compare on, with spaces, signs and characters that no vocabulary has."""
    lines = [line for line in training_lines() if len(line) < 80]
    odd = ["a  b\tc", "ﬁne ½ …", "naïve – “quoted”", "emoji 🦊 and 中文", "…."]
    return [*odd, *lines][:count]


def train_pieces(
    file: Path,
    *,
    kind: str = "unigram",
    size: int = 350,
    byte_fallback: bool = False,
    lines: Sequence[str] = (),
    **more: Any,
) -> Path:
    """A model of SentencePiece."""
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines or training_lines()),
        model_prefix=str(file.with_suffix("")),
        model_type=kind,
        vocab_size=size + 256 * byte_fallback,
        byte_fallback=byte_fallback,
        character_coverage=1.0 if lines else 0.98,  # of our own pages some characters stay unknown
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
        **more,
    )
    made = file.with_suffix(".model")
    file.with_suffix(".vocab").unlink()
    if made != file:
        shutil.move(made, file)
    return file


def package() -> Any:
    """transformers, without its warnings."""
    found: Any = import_module("transformers")
    import_module("transformers.utils.logging").set_verbosity_error()
    return found


def bart_sizes(sizes: Mapping[str, int]) -> dict[str, Any]:
    sides = {
        f"{side}_{name}": sizes[ours]
        for side in ("encoder", "decoder")
        for name, ours in (("layers", "layers"), ("attention_heads", "heads"), ("ffn_dim", "inner"))
    }
    return {"d_model": sizes["width"], "max_position_embeddings": sizes["positions"], **sides}


def make_marian(
    folder: Path,
    sizes: Mapping[str, int] = SIZES,
    *,
    lines: Sequence[str] = (),
    vocabulary: int = 350,
    **more: Any,
) -> Path:
    """OPUS-MT: two SentencePiece models, one vocabulary, `<pad>` at its end."""
    both = [
        train_pieces(folder / "source.spm", size=vocabulary, lines=lines),
        train_pieces(folder / "target.spm", size=vocabulary - 50, lines=lines),
    ]
    import sentencepiece

    models = [sentencepiece.SentencePieceProcessor(model_file=str(path)) for path in both]
    pieces = sorted({one.id_to_piece(i) for one in models for i in range(3, len(one))})
    tokens = ["</s>", "<unk>", *pieces, *more.pop("languages", ()), "<pad>"]
    (folder / "vocab.json").write_text(
        json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False)
    )
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "ko"})
    )
    pad = len(tokens) - 1
    made = package().MarianConfig(
        vocab_size=len(tokens),
        **bart_sizes(sizes),
        activation_function="swish",
        scale_embedding=True,
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=pad,
        forced_eos_token_id=None,
        **more,
    )
    return save(package().MarianMTModel, made, folder)


def make_bart(
    folder: Path,
    sizes: Mapping[str, int] = SIZES,
    *,
    library: bool = True,
    lines: Sequence[str] = (),
    vocabulary: int = 500,
) -> Path:
    """BART: byte-level BPE."""
    import tokenizers

    learner = tokenizers.ByteLevelBPETokenizer()
    learner.train_from_iterator(
        lines or training_lines(),
        vocab_size=vocabulary,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        show_progress=False,
    )
    learner.save_model(str(folder))
    count = learner.get_vocab_size()
    config = package().BartConfig(vocab_size=count, **bart_sizes(sizes))
    if library:
        package().BartTokenizerFast.from_pretrained(folder).save_pretrained(folder)
    else:
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BartTokenizer"}))
    save(package().BartForConditionalGeneration, config, folder)
    said = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**said, "forced_bos_token_id": 0}))  # as published
    return folder


def make_mbart(folder: Path, sizes: Mapping[str, int] = SIZES, *, fifty: bool = True) -> Path:
    """mBART of 50 languages, or of 25, whose decoder starts from the language."""
    train_pieces(folder / "sentencepiece.bpe.model")
    name = "MBart50Tokenizer" if fifty else "MBartTokenizer"
    tokenizer = getattr(package(), name).from_pretrained(folder, src_lang="en_XX", tgt_lang="de_DE")
    tokenizer.save_pretrained(folder)
    (folder / "sentencepiece.bpe.model").unlink()
    start = 2 if fifty else tokenizer.convert_tokens_to_ids("de_DE")
    config = package().MBartConfig(
        vocab_size=len(tokenizer),
        **bart_sizes(sizes),
        scale_embedding=True,
        decoder_start_token_id=start,
        forced_eos_token_id=None,
    )
    return save(package().MBartForConditionalGeneration, config, folder)


def make_m2m(folder: Path, sizes: Mapping[str, int] = SIZES, *, nllb: bool = False) -> Path:
    """M2M100 with a vocabulary beside SentencePiece, or NLLB with its tokenizer.json."""
    train_pieces(folder / "sentencepiece.bpe.model", kind="bpe" if nllb else "unigram")
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    pieces = [model.id_to_piece(i) for i in range(3, len(model))]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *pieces]
    if nllb:
        tokenizer = package().NllbTokenizer.from_pretrained(
            folder,
            src_lang="eng_Latn",
            tgt_lang="kor_Hang",
            extra_special_tokens=["eng_Latn", "kor_Hang", "deu_Latn"],
        )
        tokenizer.save_pretrained(folder)
        (folder / "sentencepiece.bpe.model").unlink()
        count = len(tokenizer)
    else:
        (folder / "vocab.json").write_text(
            json.dumps({token: i for i, token in enumerate(tokens)}, ensure_ascii=False)
        )
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "M2M100Tokenizer"}))
        tokenizer = package().M2M100Tokenizer.from_pretrained(folder, src_lang="en", tgt_lang="ko")
        tokenizer.save_pretrained(folder)
        count = len(tokens) + 100 + 8
    config = package().M2M100Config(
        vocab_size=count, **bart_sizes(sizes), activation_function="relu", scale_embedding=True
    )
    return save(package().M2M100ForConditionalGeneration, config, folder)


def make_pegasus(folder: Path, sizes: Mapping[str, int] = SIZES) -> Path:
    """Pegasus: pad and end first, then its masks, then a unigram model."""
    spm = train_pieces(folder / "spiece.model", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    names = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{n}>" for n in range(2, 103)), "<unk>"]
    vocabulary = [(name, 0.0) for name in names]
    vocabulary += [(model.id_to_piece(i), model.get_score(i)) for i in range(3, len(model))]
    tokenizer = package().PegasusTokenizer(vocab=vocabulary)
    tokenizer.save_pretrained(folder)
    spm.unlink()
    config = package().PegasusConfig(
        vocab_size=len(vocabulary), **bart_sizes(sizes), activation_function="relu", scale_embedding=True,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0, forced_eos_token_id=None,
    )  # fmt: skip
    return save(package().PegasusForConditionalGeneration, config, folder)


def make_t5(
    folder: Path,
    sizes: Mapping[str, int] = SIZES,
    *,
    version: str = "1.0",
    library: bool = True,
    lines: Sequence[str] = (),
    vocabulary: int = 350,
) -> Path:
    """T5 1.0, 1.1 or mT5."""
    spm = train_pieces(
        folder / "spiece.model",
        size=vocabulary,
        lines=lines,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        byte_fallback=version == "mt5",
    )
    tokenizer = package().T5Tokenizer.from_pretrained(folder, extra_ids=100 if version != "mt5" else 0)
    if library:
        tokenizer.save_pretrained(folder)
        spm.unlink()
    kind = package().MT5Config if version == "mt5" else package().T5Config
    more = {} if version == "1.0" else {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    each = sizes["width"] // sizes["heads"] + (4 if version == "1.1" else 0)
    config = kind(
        vocab_size=len(tokenizer) + 28, d_model=sizes["width"], d_kv=each, d_ff=sizes["inner"],
        num_layers=sizes["layers"], num_heads=sizes["heads"], decoder_start_token_id=0, **more,
    )  # fmt: skip
    model = (
        package().MT5ForConditionalGeneration if version == "mt5" else package().T5ForConditionalGeneration
    )
    return save(model, config, folder, untie=version != "1.0")


def save(kind: Any, config: Any, folder: Path, *, untie: bool = False) -> Path:
    """A model with random weights, of which no bias and no norm is what it starts from."""
    import torch

    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(config).eval()
        if untie:
            model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1 or "relative" in name:
                parameter.data += 0.3 * torch.randn_like(parameter)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias += 0.3 * torch.randn_like(model.final_logits_bias)
        model.save_pretrained(folder)
    return folder


MAKERS: Mapping[str, Callable[..., Path]] = {
    "marian": make_marian,
    "bart": make_bart,
    "mbart50": make_mbart,
    "mbart25": lambda folder, sizes=SIZES: make_mbart(folder, sizes, fifty=False),
    "m2m100": make_m2m,
    "nllb": lambda folder, sizes=SIZES: make_m2m(folder, sizes, nllb=True),
    "pegasus": make_pegasus,
    "t5": make_t5,
    "t5 v1.1": lambda folder, sizes=SIZES: make_t5(folder, sizes, version="1.1"),
    "mt5": lambda folder, sizes=SIZES: make_t5(folder, sizes, version="mt5"),
}
