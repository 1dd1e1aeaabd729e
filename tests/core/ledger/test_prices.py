"""What calls cost: by the GM's prices, by the library's, by the service's own word."""

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.requests.cost import LOCAL, PROVIDER, YOURS, Cost, UnitPrices
from core.domain.requests.request import Usage
from core.ledger.prices import ON_THIS_MACHINE, PriceBook, Quote, amount_of, cost_of, forecast_of, plain

pytestmark = pytest.mark.anyio

NOVEMBER = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
OPENAI, ANTHROPIC = "https://api.openai.com/v1", "https://api.anthropic.com/v1"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/openai"

# A call as the service reports it: 10,000 tokens in, 8,000 of them cached; 800 out, 300 of them reasoning.
# Prices are dollars for a million tokens as genai-prices 0.2.3 has them on 25 November 2026, worked by hand:
# 2,000 × input + 8,000 × cached + 800 × output, divided by a million. Reasoning is paid for as output.
TABLE = [
    # gpt-5: 1.25, 0.125, 10: 0.0025 + 0.001 + 0.008
    (OPENAI, "gpt-5", "0.0115"),
    # gpt-5-mini: 0.25, 0.025, 2: 0.0005 + 0.0002 + 0.0016
    (OPENAI, "gpt-5-mini", "0.0023"),
    # gpt-5.2: 1.75, 0.175, 14: 0.0035 + 0.0014 + 0.0112
    (OPENAI, "gpt-5.2-2025-12-11", "0.0161"),
    # o4-mini: 1.1, 0.275, 4.4: 0.0022 + 0.0022 + 0.00352
    (OPENAI, "o4-mini", "0.00792"),
    # o3: 2, 0.5, 8: 0.004 + 0.004 + 0.0064
    (OPENAI, "o3", "0.0144"),
    # gpt-4o: 2.5, 1.25, 10: 0.005 + 0.01 + 0.008
    (OPENAI, "gpt-4o", "0.023"),
    # gpt-4.1-mini: 0.4, 0.1, 1.6: 0.0008 + 0.0008 + 0.00128
    (OPENAI, "gpt-4.1-mini", "0.00288"),
    # claude-sonnet-4-5, up to 200,000 tokens in: 3, 0.3, 15: 0.006 + 0.0024 + 0.012
    (ANTHROPIC, "claude-sonnet-4-5", "0.0204"),
    # claude-opus-4-1: 15, 1.5, 75: 0.03 + 0.012 + 0.06
    (ANTHROPIC, "claude-opus-4-1", "0.102"),
    # gemini-2.5-pro, up to 200,000 tokens in: 1.25, 0.125, 10: 0.0025 + 0.001 + 0.008
    (GOOGLE, "gemini-2.5-pro", "0.0115"),
    # gemini-2.5-flash: 0.3, 0.03, 2.5: 0.0006 + 0.00024 + 0.002
    (GOOGLE, "gemini-2.5-flash", "0.00284"),
    # deepseek-chat at noon: 0.27, 0.07, 1.1: 0.00054 + 0.00056 + 0.00088
    ("https://api.deepseek.com/v1", "deepseek-chat", "0.00198"),
    # mistral-large has no price for cached input, which costs what other input does: 2, 6: 0.02 + 0.0048
    ("https://api.mistral.ai/v1", "mistral-large-latest", "0.0248"),
    # llama-3.3-70b-versatile, likewise: 0.59, 0.79: 0.0059 + 0.000632
    ("https://api.groq.com/openai/v1", "llama-3.3-70b-versatile", "0.006532"),
    # grok-4: 3, 0.75, 15: 0.006 + 0.006 + 0.012
    ("https://api.x.ai/v1", "grok-4", "0.024"),
    # kimi-k2-0905-preview: 0.6, 0.15, 2.5: 0.0012 + 0.0012 + 0.002
    ("https://api.moonshot.ai/v1", "kimi-k2-0905-preview", "0.0044"),
    # The same model through another service, by that service's name for it
    ("https://openrouter.ai/api/v1", "openai/gpt-5", "0.0115"),
]
CALL = Usage(input_tokens=10_000, cached_tokens=8_000, output_tokens=800, reasoning_tokens=300)


async def quoted(address: str | None, model: str, tokens: int = 10_000) -> Quote | None:
    return await PriceBook().quote(address, "", (model,), NOVEMBER, tokens, 1_000)


@pytest.mark.parametrize(("address", "model", "dollars"), TABLE, ids=[model for _, model, _ in TABLE])
async def test_a_call_costs_what_its_service_publishes(address: str, model: str, dollars: str) -> None:
    quote = await quoted(address, model)
    assert quote is not None
    assert quote.source == "genai-prices 0.2.3"
    assert quote.cost(CALL).amount == Decimal(dollars)
    assert str(quote.cost(CALL).amount) == dollars, "no digits beyond the last that counts"


@pytest.mark.parametrize(
    ("tokens", "dollars"),
    [
        # 200,000 × 1.25 + 1,000 × 10, by the million
        (200_000, "0.26"),
        # One token more, and all of them are dearer: 200,001 × 2.5 + 1,000 × 15
        (200_001, "0.5150025"),
    ],
)
async def test_a_long_input_costs_what_long_inputs_cost(tokens: int, dollars: str) -> None:
    quote = await quoted(GOOGLE, "gemini-2.5-pro", tokens)
    assert quote is not None
    assert quote.cost(Usage(input_tokens=tokens, output_tokens=1_000)).amount == Decimal(dollars)


@pytest.mark.parametrize(
    ("model", "dollars"), [("text-embedding-3-small", "0.02"), ("text-embedding-3-large", "0.13")]
)
async def test_a_model_of_vectors_costs_what_its_input_does(model: str, dollars: str) -> None:
    assert await quoted(OPENAI, model) is None, "what a text by it costs is not known"
    quote = await PriceBook().quote(OPENAI, "", (model,), NOVEMBER, 10_000, 0)
    assert quote is not None
    assert quote.cost(Usage(input_tokens=1_000_000, output_tokens=0)).amount == Decimal(dollars)


async def test_a_call_costs_what_was_asked_on_its_day() -> None:
    whole = Usage(input_tokens=1_000_000, output_tokens=0)
    book, amounts = PriceBook(), []
    for day in (datetime(2025, 5, 1, tzinfo=UTC), NOVEMBER):
        quote = await book.quote(OPENAI, "", ("o3",), day, 1_000, 1_000)
        assert quote is not None
        amounts.append(quote.cost(whole).amount)
    assert amounts == [Decimal(10), Decimal(2)]


@pytest.mark.parametrize(
    ("address", "model"),
    [
        ("https://models.example.com/v1", "gpt-5"),
        (OPENAI, "a-model-that-nobody-has"),
        # Paid by the call as well as by the token
        ("https://api.perplexity.ai", "sonar"),
    ],
)
async def test_a_price_that_is_not_known_is_no_price(address: str, model: str) -> None:
    assert await quoted(address, model) is None
    assert cost_of(None, CALL, None) is None


async def test_a_call_whose_tokens_were_not_reported_has_prices_and_no_amount() -> None:
    quote = await quoted(OPENAI, "gpt-5")
    assert quote is not None
    for usage in (Usage(), Usage(input_tokens=10), Usage(output_tokens=10)):
        cost = quote.cost(usage)
        assert cost.amount is None
        assert cost.prices is not None


async def test_what_stays_on_this_machine_costs_nothing_and_is_said_to_be_local() -> None:
    quote = await quoted(None, "gpt-5")
    assert quote is ON_THIS_MACHINE
    cost = cost_of(quote, Usage(), Decimal(3))
    assert cost is not None
    assert cost == Cost(amount=Decimal(0), source=LOCAL)


OWN = UnitPrices(input=Decimal(1), output=Decimal(2), cached_input=Decimal("0.5"), reasoning=Decimal(4))


async def test_the_prices_of_the_gm_come_first() -> None:
    book = PriceBook({"groq:Llama": OWN, "gpt-5": OWN})
    for address, account, model in ((OPENAI, "groq", "llama"), (OPENAI, "", "gpt-5"), (None, "", "gpt-5")):
        quote = await book.quote(address, account, (model,), NOVEMBER, 0, 1_000)
        assert quote == Quote(YOURS, OWN)
    other = await book.quote(OPENAI, "", ("gpt-5-mini",), NOVEMBER, 0, 1_000)
    assert other is not None
    assert other.source == "genai-prices 0.2.3"


def test_cached_input_and_reasoning_have_prices_of_their_own() -> None:
    # 2,000 × 1 + 8,000 × 0.5 + 500 × 2 + 300 × 4, by the million
    assert amount_of(CALL, OWN) == Decimal("0.0082")


def test_a_part_is_never_larger_than_the_whole() -> None:
    odd = Usage(input_tokens=10, cached_tokens=1_000, output_tokens=10, reasoning_tokens=1_000)
    # 10 × 0.5 + 10 × 4, by the million
    assert amount_of(odd, OWN) == Decimal("0.000045")


async def test_the_word_of_the_service_counts_before_any_price() -> None:
    quote = await quoted("https://openrouter.ai/api/v1", "openai/gpt-5")
    billed = cost_of(quote, CALL, Decimal("0.0120"))
    assert billed is not None
    assert (str(billed.amount), billed.source) == ("0.012", PROVIDER)
    assert billed.prices is not None, "what it was computed with stays beside it"
    unlisted = cost_of(None, CALL, Decimal("0.5"))
    assert unlisted is not None
    assert (unlisted.amount, unlisted.source, unlisted.prices) == (Decimal("0.5"), PROVIDER, None)
    free = cost_of(None, CALL, Decimal(0))
    assert free is not None, "nothing, where the service says so, is known"
    assert free.amount == 0


def test_a_forecast_is_the_most_that_a_call_can_cost() -> None:
    # 1,000 × 1 + 500 × 4, by the million: all of the answer may be reasoning
    assert forecast_of(Quote(YOURS, OWN), 1_000, 500) == Decimal("0.003")
    assert forecast_of(None, 1_000, 500) is None
    assert forecast_of(ON_THIS_MACHINE, 1_000, 500) == 0


prices = st.decimals(min_value=0, max_value=999_999, places=9)
tokens = st.integers(min_value=0, max_value=1_000_000_000)


@given(
    st.builds(
        UnitPrices, input=prices, output=prices, cached_input=st.none() | prices, reasoning=st.none() | prices
    ),
    *(st.integers(min_value=0, max_value=10_000),) * 4,
)
def test_no_call_within_its_bounds_costs_more_than_its_forecast(
    its_prices: UnitPrices, tokens_in: int, tokens_out: int, cached: int, reasoning: int
) -> None:
    quote = Quote(YOURS, its_prices)
    cost = quote.cost(Usage(tokens_in, tokens_out, cached, reasoning)).amount
    forecast = forecast_of(quote, tokens_in, tokens_out)
    assert cost is not None
    assert forecast is not None
    assert cost <= forecast


@given(prices, prices, st.none() | prices, st.none() | prices, tokens, tokens, st.none() | tokens)
def test_no_digit_is_lost(
    input: Decimal,
    output: Decimal,
    cached_price: Decimal | None,
    reasoning_price: Decimal | None,
    tokens_in: int,
    tokens_out: int,
    part: int | None,
) -> None:
    asked = UnitPrices(input=input, output=output, cached_input=cached_price, reasoning=reasoning_price)
    used = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cached_tokens=part, reasoning_tokens=part)
    cached, reasoned = min(part or 0, tokens_in), min(part or 0, tokens_out)
    exact = (tokens_in - cached) * Fraction(input) + (tokens_out - reasoned) * Fraction(output)
    exact += cached * Fraction(input if cached_price is None else cached_price)
    exact += reasoned * Fraction(output if reasoning_price is None else reasoning_price)
    amount = amount_of(used, asked)
    assert amount is not None
    assert Fraction(amount) == exact / 1_000_000


@pytest.mark.parametrize(
    ("amount", "text"), [("100", "100"), ("1E+2", "100"), ("0.3100", "0.31"), ("0.0", "0"), ("0", "0")]
)
def test_equal_amounts_are_written_alike(amount: str, text: str) -> None:
    assert str(plain(Decimal(amount))) == text
