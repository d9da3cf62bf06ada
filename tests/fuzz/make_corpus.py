"""Writes the corpus of the fuzz tests: `python -m tests.fuzz.make_corpus`. The files are committed.

Valid files to mutate, and files that are hard to digest. Tables hold the canaries of harness.py in their cells.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

CORPUS = Path(__file__).with_name("corpus")

HEADER = "age,income,job,born,level,smoker,name\n"
ROWS = "34,1200.50,cook,1980-01-31,low,true,Zanzibar\n51,3.25,smith,1999-12-01,high,false,Zanzibar2\n"
GOOD = HEADER + ROWS + "0,0,baker,2001-02-03,mid,,48151623\n120,9999,cook,1987-06-05,low,yes,99887766\n"

CSV: dict[str, bytes | str] = {
    "good.csv": GOOD,
    "semicolons.csv": GOOD.replace(",", ";").replace(".", ","),
    "tabs.csv": GOOD.replace(",", "\t"),
    "pipes_crlf.csv": GOOD.replace(",", "|").replace("\n", "\r\n"),
    "bom.csv": b"\xef\xbb\xbf" + GOOD.encode(),
    "utf16.csv": GOOD.encode("utf-16"),
    "utf16_odd.csv": GOOD.encode("utf-16") + b"\x00",
    "latin1.csv": GOOD.replace("cook", "caf\xe9").encode("latin-1"),
    "quoted.csv": '"age","income","job","born","level","smoker","name"\n'
    '34,1,"coo""k",1980-01-31,"low","true","Zan\nzibar"\n'
    '5,"2","cook","1980-01-31",low,true,"Zanzibar"\n',
    "quote_at_end.csv": GOOD + '34,1,cook,1980-01-31,low,true,"Zanzibar',
    "only_a_quote.csv": '"',
    "nul.csv": GOOD.encode() + b"34,1,co\x00ok,1980-01-31,low,true,Zanzibar\n",
    "mixed_newlines.csv": GOOD.replace("\n", "\r", 1) + "1,2,cook,1980-01-31,low,true,x\r\n\r\n\n",
    "only_cr.csv": GOOD.replace("\n", "\r"),
    "ragged.csv": GOOD + "48151623,1\n1,2,3,4,5,6,7,8,9,99887766\n",
    "blank_lines.csv": "\n\n" + GOOD + "\n\n\n",
    "no_rows.csv": HEADER,
    "no_newline.csv": HEADER.strip(),
    "empty.csv": "",
    "spaces.csv": "   \n  ",
    "one_column.csv": "age\n48151623\n\n99887766\n",
    "twice.csv": "age,age\n48151623,99887766\n",
    "no_header.csv": "48151623,48151623,Zanzibar,1987-06-05,low,true,Zanzibar\n" + ROWS,
    "numbers.csv": HEADER
    + "".join(
        f"{number},{number},cook,1980-01-31,low,true,Zanzibar\n"
        for number in ("1e400", "-1e400", "1e-400", "١٢٣", "+5", "0x1F", "9" * 60, "1_000", "nan", "-inf", "٣.٥", "½")
    ),
    "dates.csv": HEADER
    + "".join(
        f"1,1,cook,{day},low,true,Zanzibar\n"
        for day in ("0000-00-00", "2020-02-30", "99999-01-01", "-1-1-1", "1987-06-05T00:00", "19870605", "٢٠٢٠-٠١-٠١")
    ),
    "labels.csv": HEADER
    + "".join(
        f"1,1,{label},1980-01-31,low,true,Zanzibar\n"
        for label in ("__proto__", "=1+1", "\u202ekooc", "\u2028", "ﬁ", "e\u0301", "x" * 5000)
    ),
    "lone_surrogate.csv": GOOD.encode() + b"1,1,\xed\xa0\x80,1980-01-31,low,true,Zanzibar\n",
    "overlong.csv": GOOD.encode() + b"1,1,\xc0\xaf,1980-01-31,low,true,Zanzibar\n",
    "rtl_header.csv": "\u202eage\u202c,b\n1,48151623\n2,99887766\n",
    "parquet_magic.csv": "PAR1" + GOOD,
    "gzip_magic.csv": b"\x1f\x8b\x08\x00" + GOOD.encode(),
    "header_in_quotes.csv": HEADER.strip() + ',"\n' + ROWS,
}

PLAN = """[release]
method = "laplace"
epsilon = 1.5
k = 2
[table]
decimal = "."
null_values = ["", "?"]
[columns.age]
kind = "integer"
lower = 0
upper = 120
clamp = true
[columns.income]
kind = "number"
lower = 0
upper = 10000
step = 0.25
scale = "log"
clamp = true
[columns.job]
kind = "category"
categories = ["cook", "smith", "baker"]
[columns.born]
kind = "date"
lower = 1900-01-01
upper = 2030-12-31
[columns.level]
kind = "ordinal"
categories = ["low", "mid", "high"]
[columns.smoker]
kind = "boolean"
null = true
[columns.name]
kind = "drop"
"""

PLANS: dict[str, bytes | str] = {
    "good.toml": PLAN,
    "synthetic.toml": PLAN.replace("laplace", "synthetic").replace("k = 2", "delta = 1e-6\nexpected_rows = 1000")
    + '[[impossible]]\njob = "cook"\nlevel = ["high", "mid"]\n'
    + '[[rule]]\nwhen = "age > 100"\nthen = "job != \'smith\'"\n',
    "private_bounds.toml": '[release]\nmethod = "synthetic"\nepsilon = "2"\n[columns.a]\nkind = "number"\n'
    'bounds = "private"\nstep = 0.01\n[columns.b]\nkind = "integer"\nbounds = "private"\n',
    "unlinked.toml": PLAN.replace("laplace", "unlinked"),
    "multivariate.toml": PLAN.replace("laplace", "multivariate"),
    "aligned.toml": PLAN.replace("laplace", "aligned"),
    "published.toml": PLAN.replace("laplace", "published:individual-ranking"),
    "unconfirmed.toml": PLAN.replace("clamp = true", 'unconfirmed = ["lower", "upper"]'),
    "taxonomy.toml": PLAN.replace(
        'categories = ["cook", "smith", "baker"]', 'taxonomy = "jobs.csv"\ntaxonomy_labels = "labels.csv"'
    ),
    "path.toml": PLAN.replace('categories = ["cook", "smith", "baker"]', 'taxonomy = "../../../../../etc/passwd"'),
    "absolute_path.toml": PLAN.replace('categories = ["cook", "smith", "baker"]', 'taxonomy = "/dev/null"'),
    "nul_path.toml": PLAN.replace('categories = ["cook", "smith", "baker"]', 'taxonomy = "a\\u0000b"'),
    "long_path.toml": PLAN.replace('categories = ["cook", "smith", "baker"]', f'taxonomy = "{"x" * 5000}"'),
    "empty.toml": "",
    "bom.toml": b"\xef\xbb\xbf" + PLAN.encode(),
    "deep_array.toml": "a = " + "[" * 2000 + "]" * 2000,
    "deep_table.toml": "[" + ".".join("a" * 1000) + "]\n",
    "deep_inline.toml": "a = " + "{a=" * 1500 + "1" + "}" * 1500,
    "huge_integer.toml": PLAN.replace("upper = 120", "upper = " + "9" * 5000),
    "huge_hex.toml": PLAN.replace("upper = 120", "upper = 0x" + "f" * 5000),
    "huge_exponent.toml": PLAN.replace("epsilon = 1.5", "epsilon = 1e999999999"),
    "huge_bound.toml": PLAN.replace("upper = 10000", "upper = 1e400"),
    "many_digits.toml": PLAN.replace("step = 0.25", "step = 0." + "1" * 300),
    "nan.toml": PLAN.replace("epsilon = 1.5", "epsilon = nan"),
    "infinite.toml": PLAN.replace("upper = 10000", "upper = inf"),
    "types.toml": "release = []\ncolumns = 3\ntable = 2020-01-01T00:00:00Z\nimpossible = 1.5\n",
    "columns_list.toml": "[release]\nepsilon = 1\n[[columns]]\nkind = 'boolean'\n",
    "proto.toml": PLAN.replace("[columns.age]", '[columns.__proto__]\nkind = "boolean"\n[columns.age]'),
    "rtl.toml": PLAN.replace("baker", "\u202erekab\u202c"),
    "long_label.toml": PLAN.replace("baker", "b" * 5000),
    "empty_label.toml": PLAN.replace("baker", ""),
    "surrogate.toml": PLAN.replace("baker", "\\ud800"),
    "dates.toml": PLAN.replace("1900-01-01", "0001-01-01").replace("2030-12-31", "9999-12-31"),
    "date_format.toml": PLAN.replace("upper = 2030-12-31", 'upper = 2030-12-31\nformat = "%Q%%%-y\\u0000%"'),
    "datetime_bound.toml": PLAN.replace("1900-01-01", "1900-01-01T10:00:00"),
    "null_values.toml": PLAN.replace('["", "?"]', '["cook", "\\u0000", 5]'),
    "encoding.toml": PLAN.replace("[table]", '[table]\nencoding = "rot13"\nseparator = "a"'),
    "tiny_epsilon.toml": PLAN.replace("epsilon = 1.5", "epsilon = 1e-9"),
    "large_epsilon.toml": PLAN.replace("epsilon = 1.5", "epsilon = 1e9"),
    "large_k.toml": PLAN.replace("k = 2", "k = 9007199254740992"),
}

TAXONOMIES: dict[str, bytes | str] = {
    "tree.csv": "node,parent\nany,\nfood,any\ncraft,any\ncook,food\nbaker,food\nsmith,craft\n",
    "graph.csv": "node,parent\nany,\na,any\nb,any\nx,a\nx,b\ny,b\nz,y\n",
    "arx.csv": "cook;food;*\nbaker;food;*\nsmith;craft;*\n",
    "arx_same_names.csv": "a;a;*\nb;a;*\nc;c;*\n*;c;*\n",
    "arx_commas.csv": "cook,food,*\nsmith,craft,*\n",
    "labels.csv": "label,node\nC,cook\nB,baker\nS,smith\n",
    "cycle.csv": "node,parent\nany,\na,b\nb,a\n",
    "own_parent.csv": "node,parent\na,a\n",
    "two_roots.csv": "node,parent\na,\nb,\n",
    "no_rows.csv": "node,parent\n",
    "root_only.csv": "node,parent\nany,\n",
    "empty.csv": "",
    "bom.csv": b"\xef\xbb\xbfnode,parent\nany,\na,any\n",
    "nul.csv": b"node,parent\nany,\na\x00,any\n",
    "quotes.csv": 'node,parent\n"an""y",\n"a\nb","an""y"\n"c',
    "not_utf8.csv": b"node,parent\n\xff,\n",
    "chain.csv": "node,parent\n0,\n" + "".join(f"{n},{n - 1}\n" for n in range(300, 0, -1)),
    "crlf.csv": "node,parent\r\nany,\r\na,any\r\n",
    "only_cr.csv": "node,parent\rany,\ra,any\r",
    "proto.csv": "node,parent\n__proto__,\nconstructor,__proto__\n\u202eabc,__proto__\n../../etc/passwd,__proto__\n",
    "long.csv": "node,parent\nany,\n" + "x" * 4000 + ",any\n",
    "concept.csv": "node,parent\nany,\nany (concept),any\na,any\n",
}

LABELS: dict[str, bytes | str] = {
    "good.csv": "label,node\nC,cook\nB,baker\nS,smith\n",
    "third_column.csv": "label,node,remark\nC,cook,x\nB,baker\n",
    "twice.csv": "label,node\nC,cook\nC,baker\n",
    "one_node.csv": "label,node\nC,cook\nD,cook\n",
    "unknown.csv": "label,node\nC,nobody\n",
    "no_header.csv": "C,cook\n",
    "short.csv": "label,node\nC\n",
    "concept.csv": "label,node\nfood,cook\ncook,food\n",
    "empty.csv": "",
    "semicolons.csv": "label;node\nC;cook\n",
    "quote.csv": 'label,node\nC,"cook\n',
}

CERTIFICATES: dict[str, bytes | str] = {
    "empty.json": "",
    "null.json": "null",
    "list.json": "[]",
    "nan.json": '{"certificate_format": NaN, "rows": Infinity}',
    "huge.json": '{"rows": ' + "9" * 5000 + "}",
    "deep.json": "[" * 3000 + "]" * 3000,
    "deep_objects.json": '{"a":' * 3000 + "1" + "}" * 3000,
    "twice.json": '{"rows": 1, "rows": 2}',
    "surrogate.json": '{"method": "\\ud800"}',
    "bom.json": b"\xef\xbb\xbf{}",
    "utf16.json": "{}".encode("utf-16"),
    "nul.json": b'{"a": "\x00"}',
}


class _Celsius(pa.ExtensionType):  # type: ignore[misc]
    """An extension type that no reader knows."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "rankveil.test.celsius")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"{}"


def parquet_tables() -> dict[str, pa.Table]:
    good = pa.table(
        {
            "age": [34, 51, 0, 120],
            "income": [1200.5, 3.25, 0.0, 9999.0],
            "job": ["cook", "smith", "baker", "cook"],
            "born": [
                datetime.date(1980, 1, 31),
                datetime.date(1999, 12, 1),
                datetime.date(2001, 2, 3),
                datetime.date(1987, 6, 5),
            ],
            "level": pa.array(["low", "high", "mid", "low"]).dictionary_encode(),
            "smoker": [True, False, None, True],
            "name": ["Zanzibar", "48151623", "99887766", "Zanzibar"],
        }
    )
    numbers = {
        "int8": pa.array([1, 2, None], pa.int8()),
        "uint64": pa.array([1, 2**64 - 1, None], pa.uint64()),
        "int64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
        "half": pa.array(np.array([1, np.nan, np.inf], np.float16)),
        "double": pa.array([1e308, float("nan"), -float("inf")]),
        "decimal128": pa.array([Decimal("1.5"), Decimal("99887766"), None], pa.decimal128(38, 10)),
        "decimal256": pa.array([Decimal("1.5"), Decimal("9" * 60), None], pa.decimal256(76, 10)),
        "nulls": pa.nulls(3),
    }
    times = {
        "date64": pa.array([0, 86_400_000, None], pa.date64()),
        "far": pa.array([2**31 - 1, -(2**31), 0], pa.date32()),
        "seconds": pa.array([2**52, -(2**52), None], pa.timestamp("s")),
        "zoned": pa.array([0, 1, None], pa.timestamp("ns", tz="Pacific/Apia")),
        "time": pa.array([1, 2, None], pa.time64("us")),
        "duration": pa.array([1, 2, None], pa.duration("ms")),
    }
    nested = {
        "list": pa.array([[48151623], [], None]),
        "struct": pa.array([{"a": "Zanzibar"}, {"a": None}, None]),
        "map": pa.array([[("Zanzibar", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "fixed": pa.array([[1, 2], [3, 4], None], pa.list_(pa.int8(), 2)),
    }
    bytes_ = {
        "binary": pa.array([b"Zanzibar", b"\xff\xfe", None]),
        "fixed": pa.array([b"abcd", b"\0\0\0\0", None], pa.binary(4)),
        "large": pa.array(["Zanzibar", "", None], pa.large_string()),
        "view": pa.array(["Zanzibar", "cook", None], pa.string_view()),
        "not_utf8": pa.Array.from_buffers(
            pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(b"\xff\x80a")]
        ),
    }
    return {
        "good.parquet": good,
        "numbers.parquet": pa.table(numbers),
        "times.parquet": pa.table(times),
        "nested.parquet": pa.table(nested),
        "bytes.parquet": pa.table(bytes_),
        "extension.parquet": pa.table({"a": pa.ExtensionArray.from_storage(_Celsius(), pa.array([1.0, 2.0]))}),
        "dictionary_of_numbers.parquet": pa.table({"a": pa.array([1, 2, 1]).dictionary_encode()}),
        "no_columns.parquet": pa.table({}),
        "no_rows.parquet": good.slice(0, 0),
        "one_row.parquet": good.slice(0, 1),
        "twice.parquet": pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"]),
        "no_name.parquet": pa.table([pa.array([1, 2])], names=[""]),
        "long_name.parquet": pa.table([pa.array([1, 2])], names=["\u202e" + "x" * 300]),
    }


def main() -> None:
    texts = {"csv": CSV, "plans": PLANS, "taxonomies": TAXONOMIES, "labels": LABELS, "certificates": CERTIFICATES}
    for folder, files in texts.items():
        (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (CORPUS / folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    (CORPUS / "parquet").mkdir(exist_ok=True)
    for name, table in parquet_tables().items():
        compression = "snappy" if name == "good.parquet" else "none"
        papq.write_table(table, CORPUS / "parquet" / name, compression=compression, write_statistics=False)
    good = (CORPUS / "parquet" / "good.parquet").read_bytes()
    (CORPUS / "parquet" / "cut_off.parquet").write_bytes(good[:-20])
    (CORPUS / "parquet" / "bad_footer.parquet").write_bytes(good[:-8] + b"\xff\xff\xff\x7fPAR1")
    (CORPUS / "parquet" / "zero_footer.parquet").write_bytes(b"PAR1" + b"\0" * 4 + b"PAR1")
    (CORPUS / "parquet" / "magic_only.parquet").write_bytes(b"PAR1")


if __name__ == "__main__":
    main()
