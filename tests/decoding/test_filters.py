import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.decoding.searches import beam_search, greedy

from jumok.decoding.batched import USUAL
from jumok.decoding.constraints import Constraint
from jumok.decoding.filters import (
    FREE,
    LEARNED,
    NEVER,
    CharacterTables,
    LiveRows,
    WholeCharacters,
    allow,
    at_least,
    ban,
    forbid,
    force_prefix,
    no_repeat,
    require,
    written,
)
from jumok.decoding.jobs import CHARACTER, Phrase, Spelling
from jumok.text.tokenizer import EOS, FIRST_BYTE

PIECES = [b"", b"", b"", b"", b"a", b"b", b"ab", b"bc"]
V = len(PIECES)
SEEDS = st.integers(0, 9999)
IDS = st.lists(st.integers(4, V - 1), min_size=1, max_size=3)


def rows_of(*tokens: list[int], room: int = 9) -> LiveRows:
    rows = LiveRows.start([room] * len(tokens), torch.device("cpu"))
    for column in zip(*tokens, strict=True):
        rows = rows.facing(torch.zeros(len(tokens), V)).grow(torch.tensor(column), torch.zeros(len(tokens)))
    return rows


def left(filter_, rows: LiveRows, log_probs: torch.Tensor | None = None) -> list[list[int]]:
    """The ids that a filter leaves in each row."""
    log_probs = torch.zeros(len(rows.room), V) if log_probs is None else log_probs
    kept = filter_(log_probs, rows.facing(log_probs))
    return [[i for i, value in enumerate(row) if value > -torch.inf] for row in kept.tolist()]


def search(bench, seed: int, filters, beam: int, limit: int = 8):
    """All answers of both searches, for two sentences."""
    model = bench.toy(seed, V)
    memory, filters = bench.memory(model, [[4], [5]]), [forbid(NEVER), *filters]
    wide = beam_search(model, memory, [limit] * 2, filters, beam=beam, n_best=beam)
    both = [*wide, *([answer] for answer in greedy(model, memory, [limit] * 2, filters))]
    return [(place % 2, answer) for place, answers in enumerate(both) for answer in answers]


def test_forbid_leaves_the_others_as_they_are() -> None:
    log_probs = torch.randn(2, V)
    kept = forbid([0, 5])(log_probs, rows_of([], []))
    assert kept[:, [0, 5]].tolist() == [[-torch.inf] * 2] * 2
    assert torch.equal(kept[:, [1, 2, 3, 4, 6, 7]], log_probs[:, [1, 2, 3, 4, 6, 7]])


def test_at_least_holds_back_the_end() -> None:
    assert EOS not in left(at_least(2), rows_of([4]))[0]
    assert EOS in left(at_least(2), rows_of([4, 5]))[0]


def test_no_repeat_of_pairs() -> None:
    assert left(no_repeat(2), rows_of([4, 5, 4], [4, 5, 6])) == [[0, 1, 2, 3, 4, 6, 7], list(range(V))]


def test_no_repeat_of_single_pieces() -> None:
    assert left(no_repeat(1), rows_of([4, 6])) == [[0, 1, 2, 3, 5, 7]]


def test_force_prefix_is_for_each_sentence() -> None:
    keep = force_prefix([[4, 5], [], [6]])
    assert left(keep, rows_of([], [], [])) == [[4], list(range(V)), [6]]
    assert left(keep, rows_of([4], [4], [6])) == [[5], list(range(V)), list(range(V))]


def test_ban_sees_text_across_pieces() -> None:
    assert left(ban(["abc"], PIECES), rows_of([4], [5], [6])) == [
        [0, 1, 2, 3, 4, 5, 6],  # a + bc
        list(range(V)),
        list(range(V)),  # ab + bc is abbc
    ]
    assert left(ban(["ab"], PIECES), rows_of([4], [5])) == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5, 7]]


def test_an_earlier_filter_goes_before_a_later_one() -> None:
    rows = rows_of([])
    assert left(lambda x, r: allow(x, r, [force_prefix([[6]]), ban(["ab"], PIECES)]), rows) == [[6]]
    assert left(lambda x, r: allow(x, r, [ban(["ab"], PIECES), force_prefix([[6]])]), rows) == [
        [0, 1, 2, 3, 4, 5, 7]
    ]


def test_require_waits_until_the_model_wants_to_end() -> None:
    keep = require([Constraint((Phrase((Spelling("abb", (6, 5)),)),), PIECES)])
    ending = torch.zeros(1, V)
    ending[0, EOS] = 1.0
    free = [0, 1, 3, 4, 5, 6, 7]
    elsewhere = ending.roll(2)
    assert left(keep, rows_of([4]), elsewhere) == [free]  # room for 8 more
    assert left(keep, rows_of([4]), ending) == [[6]]
    forced = rows_of([4]).facing(ending).grow(torch.tensor([6]), torch.zeros(1))
    assert left(keep, forced, elsewhere) == [[5]]  # what was begun on purpose is written to its end
    by_chance = rows_of([4]).facing(elsewhere).grow(torch.tensor([6]), torch.zeros(1))
    assert left(keep, by_chance, elsewhere) == [free]


def bytes_left(*written_so_far: bytes, room: int = 9) -> list[set[int]]:
    """The bytes that may come next."""
    R, size = len(written_so_far), FIRST_BYTE + 256 + 1
    rows = LiveRows.start([room] * R, torch.device("cpu"))
    for column in zip(*written_so_far, strict=True):
        rows = rows.grow(torch.tensor(column) + FIRST_BYTE, torch.zeros(R))
    kept = WholeCharacters()(torch.zeros(R, size), rows)[:, FIRST_BYTE : FIRST_BYTE + 256]
    return [set((row > -torch.inf).nonzero().squeeze(1).tolist()) for row in kept]


def test_bytes_come_together_as_characters() -> None:
    firsts = {*range(0x80), *range(0xC2, 0xF5)}
    assert bytes_left(b"ab", "é".encode(), b"x\xed") == [firsts, firsts, set(range(0x80, 0xA0))]
    assert bytes_left(b"\xe0", b"\xf0", b"\xf4", b"\xc3") == [
        set(range(0xA0, 0xC0)),
        set(range(0x90, 0xC0)),
        set(range(0x80, 0x90)),
        set(range(0x80, 0xC0)),
    ]
    assert bytes_left(b"\xea\xb0", b"\xf0\x9f") == [set(range(0x80, 0xC0))] * 2


def test_no_character_is_begun_that_cannot_be_finished() -> None:
    assert bytes_left(b"a", room=2) == [set(range(0x80))]
    assert bytes_left(b"a", room=4) == [{*range(0x80), *range(0xC2, 0xF0)}]


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, length=st.integers(1, 9))
def test_random_bytes_are_always_text(seed, length) -> None:
    torch.manual_seed(seed)
    rows, limits = LiveRows.start([length] * 8, torch.device("cpu")), range(length)
    for _ in limits:
        kept = WholeCharacters()(torch.randn(8, FIRST_BYTE + 256) + torch.arange(260) / 100, rows)
        rows = rows.grow(kept[:, FIRST_BYTE:].argmax(dim=1) + FIRST_BYTE, torch.zeros(8))
    for tokens in rows.tokens.tolist():
        data = bytes(token - FIRST_BYTE for token in tokens)
        assert data.decode("utf-8", errors="replace").encode() == data


def test_require_is_content_with_any_spelling() -> None:
    keep = require([Constraint((Phrase((Spelling("abb", (6, 5)),)),), PIECES)])
    assert EOS in left(keep, rows_of([4, 5, 5]))[0]


def test_require_writes_while_there_is_room() -> None:
    keep = require(
        [
            Constraint(
                (
                    Phrase((Spelling("abb", (6, 5)),)),
                    Phrase((Spelling("bc", (7,)),)),
                ),
                PIECES,
            )
        ]
    )
    elsewhere = torch.zeros(1, V)
    elsewhere[0, 4] = 1.0
    assert left(keep, rows_of([], room=8), elsewhere) == [[0, 1, 3, 4, 5, 6, 7]]
    assert left(keep, rows_of([], room=7), elsewhere) == [[6]]  # 2 + 1 pieces, and a few to spare


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beam=st.integers(1, 4), least=st.integers(0, 5))
def test_no_answer_is_shorter_than_the_minimum(bench, seed, beam, least) -> None:
    for _, answer in search(bench, seed, [at_least(least)], beam):
        assert least <= len(answer.ids) <= 8


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beam=st.integers(1, 4), n=st.integers(1, 3))
def test_no_run_of_pieces_comes_twice(bench, seed, beam, n) -> None:
    for _, answer in search(bench, seed, [no_repeat(n)], beam):
        grams = [answer.ids[i : i + n] for i in range(len(answer.ids) - n + 1)]
        assert len(set(grams)) == len(grams)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beam=st.integers(1, 4), texts=st.lists(st.text("abc", min_size=1, max_size=4), max_size=2))
def test_banned_text_never_appears(bench, seed, beam, texts) -> None:
    for _, answer in search(bench, seed, [ban(texts, PIECES)], beam):
        assert not any(text.encode() in written(answer.ids, PIECES) for text in texts)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, beam=st.integers(1, 4), phrases=st.lists(IDS, min_size=1, max_size=2))
def test_required_text_always_appears(bench, seed, beam, phrases) -> None:
    wanted = [Phrase((Spelling(written(ids, PIECES).decode(), tuple(ids)),)) for ids in phrases]
    for _, answer in search(bench, seed, [require([Constraint(tuple(wanted), PIECES)] * 2)], beam, limit=9):
        for phrase in wanted:
            assert phrase.spellings[0].text.encode() in written(answer.ids, PIECES)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, beam=st.integers(1, 4), prefixes=st.tuples(IDS, IDS))
def test_a_prefix_is_kept_for_each_sentence(bench, seed, beam, prefixes) -> None:
    filters = [force_prefix(prefixes), no_repeat(1)]
    for sentence, answer in search(bench, seed, filters, beam):
        assert list(answer.ids[: len(prefixes[sentence])]) == prefixes[sentence]


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS)
def test_filters_change_no_score(bench, seed) -> None:
    model = bench.toy(seed, V)
    memory = bench.memory(model, [[4]])
    filters = [forbid(NEVER), force_prefix([[7, 7]]), no_repeat(2), at_least(3)]
    [answer] = greedy(model, memory, [7], filters)
    assert answer.log_probs == pytest.approx(bench.own_log_probs(model, memory, 0, answer), abs=1e-6)


@pytest.mark.parametrize("text", ["é", "က", "가", "\uffff", "𐀀", "👍", "\U000fffff"])
def test_after_any_beginning_of_a_character_it_may_go_on(text) -> None:
    usual, data = WholeCharacters(), text.encode()
    assert all(usual.may_be_inside(FIRST_BYTE + byte) for byte in data[:-1])
    assert not any(usual.may_be_inside(token) for token in (EOS, FIRST_BYTE + 0x7F, FIRST_BYTE + 0x100))


@settings(max_examples=60, deadline=None)
@given(
    tokens=st.lists(st.integers(4, 320), min_size=2, max_size=5),
    room=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_outside_of_a_character_only_fixed_ids_are_out(tokens, room, seed) -> None:
    usual = WholeCharacters(never=NEVER)
    log_probs = torch.randn(1, 330, generator=torch.Generator().manual_seed(seed))
    rows = LiveRows.start([room + len(tokens)])
    for token in tokens:
        rows = rows.facing(log_probs).grow(torch.tensor([token]), torch.zeros(1))
    kept = usual(log_probs, rows.facing(log_probs))
    if usual.is_free(room) and not usual.may_be_inside(tokens[-1]):
        assert torch.equal(kept, usual.between(log_probs))
        assert set((kept == -torch.inf).nonzero()[:, 1].tolist()) == set(usual.fixed)


VOCABULARY = LEARNED + 20
TABLES = CharacterTables.make(USUAL, LEARNED + 4, torch.device("cpu"))


@settings(max_examples=200, deadline=None)
@given(data=st.data(), limit=st.integers(1, 14))
def test_the_tables_allow_what_the_filter_allows_along_any_answer(data, limit) -> None:
    state, tokens = torch.tensor([FREE]), list[int]()
    for step in range(limit):
        room = torch.tensor([limit - step])
        rows = LiveRows(
            torch.zeros(1, dtype=torch.long), room, torch.tensor([tokens], dtype=torch.long).view(1, -1),
            torch.zeros(1, step), torch.zeros(1, step, dtype=torch.bool),
        )  # fmt: skip
        wanted = USUAL(torch.zeros(1, VOCABULARY), rows)[0] == 0  # (V,)
        bias = TABLES.bias(state, room)[0]
        allowed = torch.cat((bias, bias[-1:].expand(VOCABULARY - len(bias)))) == 0
        assert torch.equal(allowed, wanted)
        assert (state.item() == FREE) == bool(wanted[EOS])
        choices = wanted.nonzero().squeeze(1).tolist()
        bytes_ = [i for i in choices if 4 + 0x80 <= i < LEARNED]
        token = data.draw(st.sampled_from(bytes_ if bytes_ and data.draw(st.booleans()) else choices))
        tokens.append(token)
        state = TABLES.after(state, torch.tensor([token]))
    assert state.item() == FREE or limit < CHARACTER or tokens[-1] >= 4 + 0x80


def test_room_beyond_what_a_character_takes_changes_nothing() -> None:
    states = torch.arange(len(TABLES.allowed))
    enough, more = (TABLES.bias(states, torch.full_like(states, room)) for room in (CHARACTER, 99))
    assert torch.equal(enough, more)
    assert torch.equal(TABLES.bias(states, torch.full_like(states, -3)), TABLES.bias(states, 0 * states))


def test_every_state_allows_something() -> None:
    assert (TABLES.allowed == 0).any(dim=2).all()
