"""The tree of the search behind a trace: the same search once more, with a recorder."""

from collections.abc import Mapping
from typing import Any

from jumok.decoding.batched import encode
from jumok.decoding.beam import BeamTree
from jumok.decoding.jobs import SourceText, make_request
from jumok.decoding.search import run_search
from jumok.decoding.translator import Translator
from jumok.explain.pictures import source_ids_of

SETTINGS = (
    "beam",
    "n_best",
    "length_penalty",
    "max_len",
    "min_len",
    "no_repeat_ngram",
    "prefix",
    "ban",
    "require",
)


def beam_tree(translator: Translator, manifest: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tree in the form `beam/1` of the search that wrote a trace's target; None if no search did.

    A search is a function of the model, the source and the settings in the manifest, so it comes out again
    as it was. The translator is the one of the trace, with its interventions.
    """
    decode = manifest["decode"]
    if decode["method"] not in ("beam", "greedy"):
        return None
    # Defaults first: what the folder says about drawing at random does not count here.
    options = {"sample": False, "long": "cut", **{name: decode[name] for name in SETTINGS}}
    request = make_request(translator.config.decoding, options)
    tree = BeamTree(request.decoding.beam, request.decoding.length_penalty)
    text, ids = manifest["source"]["text"], source_ids_of(translator.tokenizers, manifest["source"])
    [[job]] = translator.jobs([SourceText(text, text, tuple(ids))], request)  # a cut text may have other ids
    search = translator.search_for(job, request, record=tree)
    with translator.explained([job]):
        run_search(translator.model, encode(translator.model, [job], [len(search.token)]), search)
    return tree.to_dict(translator.tokenizers.target)
