# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tables as other packages take them, by the Arrow PyCapsule interface."""

import gc

import pytest
import warpwatt as ww


@pytest.fixture(scope="module")
def record():
    return ww.run("hotspot@tiny", interval=500)


NAMES = ["kernels", "launches", "lines", "counters", "histograms", "energy", "series", "power"]


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_takes_a_table_as_it_is(record, name):
    pyarrow = pytest.importorskip("pyarrow")
    table = getattr(record, name)
    taken = pyarrow.table(table)
    taken.validate(full=True)
    assert taken.column_names == table.column_names
    assert taken.to_pydict() == table.to_dict()
    assert pyarrow.schema(table) == taken.schema


@pytest.mark.parametrize("name", NAMES)
def test_polars_takes_a_table_as_it_is(record, name):
    polars = pytest.importorskip("polars")
    table = getattr(record, name)
    assert polars.DataFrame(table).to_dict(as_series=False) == table.to_dict()
    assert table.to_polars().shape == (table.num_rows, table.num_columns)


def test_pandas_takes_a_table_as_it_is(record):
    pytest.importorskip("pandas")
    frame = record.lines.to_pandas()
    assert list(frame.columns) == record.lines.column_names
    assert frame["warp_instructions"].tolist() == record.lines["warp_instructions"]


def test_nothing_is_copied_and_memory_lives_as_long_as_it_is_used(record):
    pyarrow = pytest.importorskip("pyarrow")
    table = record.counters
    first, second = pyarrow.table(table), pyarrow.table(table)
    addresses = [column.chunk(0).buffers()[1].address for column in (first["value"], second["value"])]
    assert addresses[0] == addresses[1], "both see the same memory"
    expected = table["value"]
    del table, second
    gc.collect()
    assert first["value"].to_pylist() == expected


def test_columns_may_be_taken_apart(record):
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.table(record.lines).column("text")
    gc.collect()
    assert column.to_pylist() == record.lines["text"]


def test_streams_that_nobody_takes_are_freed(record):
    for _ in range(1000):
        record_table = record.counters
        record_table.__arrow_c_stream__()
        record_table.__arrow_c_schema__()


def test_a_table_without_rows_keeps_its_columns():
    pyarrow = pytest.importorskip("pyarrow")
    table = ww.run("vecadd@tiny", functional=True).energy
    assert pyarrow.table(table).num_rows == 0
    assert pyarrow.table(table).column_names[:2] == ["component", "structure"]


def test_a_table_is_shown_in_a_notebook(record):
    text = record.kernels._repr_html_()
    assert text.startswith("<table>") and text.count("<tr>") == record.kernels.num_rows + 1
    assert len(record.kernels) == record.kernels.num_rows
    assert repr(record.kernels).startswith("<warpwatt.Table kernels: 1 rows")
