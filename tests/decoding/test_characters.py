import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jumok.decoding.batched import USUAL
from jumok.decoding.characters import FREE, LEARNED, CharacterTables
from jumok.decoding.filters import LiveRows
from jumok.decoding.jobs import CHARACTER
from jumok.text.tokenizer import EOS

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
