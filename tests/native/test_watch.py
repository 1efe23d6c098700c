"""c/search.c tells how far a search has come: `find_lead` of decoding/search.py, after each step."""

import ctypes

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.native.calling import EOS
from tests.native.test_search import SIZES, twins

from jumok.answers import Lead
from jumok.decoding.batched import USUAL, lay_sources
from jumok.decoding.beam import BeamSearch
from jumok.decoding.search import search_steps
from jumok.native.library import available, why_not
from jumok.native.model import NativeModel, SearchOptions
from jumok.native.record import Probe
from jumok.native.watch import CWatch, Watch

pytestmark = pytest.mark.skipif(not available(), reason=why_not())

SOURCE, LIMIT = [100, 61, 180], 12


def leads_by_pytorch(kind: str, options: SearchOptions) -> list[Lead]:
    model = twins(kind).torch
    search = BeamSearch(
        [LIMIT],
        [USUAL],
        beam=options.beam,
        n_best=options.n_best,
        length_penalty=options.length_penalty,
    )
    with torch.inference_mode():
        memory = model.encode(lay_sources([SOURCE], torch.device("cpu")))
    return [search.lead() for _ in search_steps(model, memory, search)]


def followed(model: NativeModel, options: SearchOptions) -> list[Lead]:
    leads: list[Lead] = []
    [[best, *_]] = model.search(
        [SOURCE], [LIMIT], options, looker=Probe(watch=Watch(leads.append)), threads=1
    )
    assert leads[-1].ids == best.ids
    assert leads[-1].stable == len(best.ids)
    return leads


@given(
    kind=st.sampled_from(sorted(SIZES)),
    beam=st.integers(1, 5),
    n_best=st.integers(1, 3),
    alpha=st.sampled_from([0.0, 1.0, 2.5]),
)
def test_leads_are_those_of_pytorch(kind: str, beam: int, n_best: int, alpha: float) -> None:
    options = SearchOptions(beam, min(n_best, beam), alpha)
    ours, theirs = followed(twins(kind).native, options), leads_by_pytorch(kind, options)
    assert [(one.ids, one.stable) for one in ours] == [(one.ids, one.stable) for one in theirs]
    assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], abs=1e-3)
    followed(twins(kind).int8, options)


def test_whoever_watches_changes_nothing() -> None:
    for beam in (1, 4):
        options, model = SearchOptions(beam), twins("words").native
        watch = Watch(lambda lead: None)
        assert model.search([SOURCE], [LIMIT], options, looker=Probe(watch=watch)) == model.search(
            [SOURCE], [LIMIT], options
        )


def test_what_is_raised_ends_the_search() -> None:
    leads: list[Lead] = []

    def follow(lead: Lead) -> None:
        leads.append(lead)
        if len(leads) == 3:
            raise KeyboardInterrupt("enough")

    with pytest.raises(KeyboardInterrupt, match="enough"):
        twins("equal").native.search(
            [SOURCE], [LIMIT], SearchOptions(2, min_len=9), looker=Probe(watch=Watch(follow))
        )
    assert len(leads) == 3


def test_only_one_sentence_is_followed_and_by_someone() -> None:
    model = twins("bytes").native
    watch = Watch(lambda lead: None)
    with pytest.raises(ValueError, match="cannot search"):
        model.search([SOURCE] * 2, [3, 3], SearchOptions(2), looker=Probe(watch=watch))
    nobody = Watch(lambda lead: None)
    nobody.c = CWatch()
    assert not ctypes.cast(nobody.c.step, ctypes.c_void_p)
    with pytest.raises(ValueError, match="cannot search"):
        model.search([SOURCE], [3], SearchOptions(2), looker=Probe(watch=nobody))


def test_an_end_is_no_token_of_a_lead() -> None:
    assert all(EOS not in lead.ids for lead in followed(twins("words").native, SearchOptions(4)))
