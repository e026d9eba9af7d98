"""Predicates mean outside Spark what they mean in Spark: the same text, the same rows, the same three values."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from sweeps import sweep
from windrow.errors import UnsupportedError
from windrow.predicates.names import BARE_FUNCTIONS
from windrow.predicates.parse import parse_predicate

pytestmark = pytest.mark.spark

NAN, INF = float("nan"), float("inf")
DOUBLES = [0.0, -0.0, NAN, INF, -INF, 0.5, 0.1, -0.1, 1.0, -1.0, 0.30000000000000004, 5e-324, 1.7976931348623157e308]
DOUBLES += [9007199254740992.0, 9007199254740994.0, 16777217.0, 0.10000000149011612, 9.223372036854775807e18, 7.0]
FLOATS = [0.0, -0.0, NAN, INF, -INF, 0.5, 0.1, -0.1, 1.0, -1.0, 16777216.0, 1e-45, 3.4028234663852886e38, 7.0]
TINY = [0, 1, -1, 7, 127, -128]
INTS = [*TINY, 128, -129, 2**31 - 1, -(2**31), 16777217]
LONGS = [*INTS, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1]
STRINGS = ["", "a", "A", "ab", "b", "é", "日本", "\U0001f600", "\uffff", "a b", "on", "a\n", "1"]
WIDTHS = {
    "d": (pa.float64(), DOUBLES),
    "e": (pa.float64(), DOUBLES),
    "f": (pa.float32(), FLOATS),
    "g": (pa.float32(), FLOATS),
    "k": (pa.int8(), TINY),
    "h": (pa.int16(), INTS[:8]),
    "i": (pa.int32(), INTS),
    "j": (pa.int64(), LONGS),
    "l": (pa.int64(), LONGS),
    "s": (pa.string(), STRINGS),
    "t": (pa.large_string(), STRINGS),
    "u": (pa.dictionary(pa.int32(), pa.string()), STRINGS),
    "b": (pa.bool_(), [True, False]),
    "Odd name": (pa.bool_(), [True, False]),
}
SMALL = ["0", "1", "-1", "7", "127", "128", "-129", "2147483647", "2147483648", "-2147483648", "-1L", "2147483648L"]
LARGE = ["16777216", "16777217", "9007199254740993", "9223372036854775807", "-9223372036854775808"]
BEYOND = ["9223372036854775808", "99999999999999999999.5", "9223372036854775807.5", "-9223372036854775808.5"]
DECIMALS = ["0.5", "0.1", "-0.1", ".5", "5.", "1.0", "-0.0", "16777217.0", "9007199254740993.5", "0.30000000000000004"]
EXPONENTS = ["1e0", "1E-1", "-5e-1", "0.1D", "7d", "16777217D", "9.007199254740993e15", "1e300", "-0e0", "3.4028235e38"]
LITERALS = [*SMALL, *LARGE, *BEYOND, *DECIMALS, *EXPONENTS, "0.100000001490116119384765625"]
COMPARISONS = ["=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">="]


class Grammar:
    """Writes random predicates of the supported kinds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def number(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.5:
            return self.pick("d", "d", "e", "f", "f", "g", "D", "`e`")
        left, right = self.number(depth - 1), self.pick(self.number(depth - 1), self.pick(*LITERALS))
        if self.random.random() < 0.5:
            left, right = right, left
        return self.pick(f"abs({left})", f"-({left})", f"({left} {self.pick('+', '-', '*')} {right})")

    def operand(self, depth: int) -> str:
        return self.pick(self.number(depth), self.number(0), "i", "j", "k", "h", "l")

    def text(self) -> str:
        return "'" + self.pick(*STRINGS) + "'"

    def comparison(self, depth: int) -> str:
        op, not_ = self.pick(*COMPARISONS), self.pick("", "NOT ")
        value, literal = self.operand(depth), self.pick(*LITERALS)
        items = ", ".join(self.pick(*LITERALS, "null") for _ in range(self.random.choice([1, 2, 3, 12])))
        texts = ", ".join(self.pick(self.text(), self.text(), "NULL") for _ in range(self.random.choice([1, 2, 12])))
        pattern = self.pick("'a%'", "'%b'", "'%本%'", "'a'", "'a %'")
        word, truth = self.pick("s", "t", "u"), self.pick("TRUE", "false")
        return self.pick(
            f"{value} {op} {literal}",
            f"{literal} {op} {value}",
            f"{value} {op} {self.operand(depth)}",
            f"{value} {not_}between {literal} AND {self.pick(*LITERALS)}",
            f"{value} {not_}between {self.operand(0)} AND {self.pick(*LITERALS)}",
            f"{self.pick('d', 'f', 'i', 'j', 'k')} {not_}in ({items})",
            f"{value} is {not_}null",
            f"{value} {op} null",
            f"{value} IS DISTINCT FROM {literal}",
            f"isnan({self.number(depth)})",
            f"{word} {op} {self.text()}",
            f"{word} {op} {self.pick('s', 't', 'u')}",
            f"{word} {not_}in ({texts})",
            f"{word} {not_}like {pattern}",
            f"b {op} {truth}",
            f"b {op} `odd Name`",
            f"({self.condition(depth - 1)}) is {not_}{truth}" if depth else "b",
            f"({self.condition(depth - 1)}) {op} b" if depth else truth,
        )

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return self.comparison(0)
        left, right = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(
            self.comparison(depth),
            f"{left} and {right}",
            f"{left} OR {right}",
            f"NOT {left}",
            f"!({left})",
            f"({left} or {right}) AND {self.pick('null', 'true', 'b')}",
        )


@pytest.fixture(scope="module")
def table():
    dice = random.Random(2016)
    return pa.table(
        {
            name: pa.array([None if dice.random() < 0.15 else dice.choice(values) for _ in range(200)]).cast(type_)
            for name, (type_, values) in WIDTHS.items()
        }
    )


@pytest.fixture(scope="module")
def loaded(spark, table, tmp_path_factory):
    path = tmp_path_factory.mktemp("predicates") / "values.parquet"
    pq.write_table(table, path)
    return spark.read.parquet(str(path))


def compiled(texts, schema):
    """The predicates that are evaluated outside Spark, each with its text."""
    for text in dict.fromkeys(texts):
        try:
            yield text, parse_predicate(text).compile(schema)
        except UnsupportedError:
            continue


def differences(frame, table, predicates):
    """Which predicates Spark sees differently, and on which row first."""
    for at in range(0, len(predicates), 100):
        part = predicates[at : at + 100]
        answers = frame.select(*[F.expr(text).alias(f"p{n}") for n, (text, _) in enumerate(part)]).toArrow()
        for (text, evaluate), answer in zip(part, answers.columns, strict=True):
            ours, theirs = evaluate(table).to_pylist(), answer.to_pylist()
            if ours != theirs:
                row = next(n for n in range(len(ours)) if ours[n] is not theirs[n])
                values = {name: table[name][row].as_py() for name in evaluate.columns}
                yield f"{text}: {ours[row]}, Spark says {theirs[row]} for {values}"


def test_random_predicates_mean_the_same(loaded, table):
    texts = [Grammar(seed).condition(seed % 3) for seed in range(240)]
    predicates = list(compiled(texts, table.schema))
    assert len(predicates) > 160
    assert list(differences(loaded, table, predicates)) == []


def test_every_column_against_every_literal(loaded, table):
    dice = random.Random(5)
    texts = [f"{name} {dice.choice(COMPARISONS)} {literal}" for name in "dfkhij" for literal in LITERALS]
    predicates = list(compiled(texts, table.schema))
    assert len(predicates) > 190
    assert list(differences(loaded, table, predicates)) == []


def test_every_pair_of_columns(loaded, table):
    dice = random.Random(7)
    texts = [f"`{a}` {op} `{b}`" for a in WIDTHS for b in WIDTHS for op in dice.sample(COMPARISONS, 2)]
    predicates = list(compiled(texts, table.schema))
    assert len(predicates) > 100
    assert list(differences(loaded, table, predicates)) == []


def test_long_lists(loaded, table):
    """Beyond ten items Spark looks them up in a hash set, where 0.0 and -0.0 might differ."""
    many = ", ".join(str(n) for n in range(-3, 12))
    texts = [f"{name} {op} ({many}{extra})" for name in "dfkij" for op in ("in", "not in") for extra in ("", ", null")]
    texts += [
        f"d in ({many}, 0.1, 1e-1)",
        f"j in ({many}, 0.5)",
        f"u in ('a', {', '.join(repr(x) for x in 'bcdefghijkl')})",
    ]
    predicates = list(compiled(texts, table.schema))
    assert len(predicates) == len(texts)
    assert list(differences(loaded, table, predicates)) == []


@pytest.mark.parametrize("shape", sweep(["{} is null", "not {} > 3", "plain between {} and 3"], "{} is null"))
def test_every_keyword_of_spark_that_may_be_a_column_name_is_one(spark, shape):
    listed = [row.keyword.lower() for row in spark.sql("select keyword from sql_keywords()").collect()]
    words = [word for word in listed if word not in {"not", "null", "true", "false"}]
    assert len(words) > 300
    frame = spark.sql(f"select 1 as plain, {', '.join(f'1 as `{word}`' for word in words)}")
    texts = {word: shape.format(word) for word in words}
    assert {kind for _, kind in frame.selectExpr(*texts.values()).dtypes} == {"boolean"}, "Spark takes all of them"
    for word, text in texts.items():
        assert word in BARE_FUNCTIONS or word in parse_predicate(text).columns, text
