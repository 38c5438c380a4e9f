//! Runs as Parquet, for who reads them with a data frame library.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::runs::{Run, Runs};

/// Writes the columns of [`write_csv`](crate::write_csv): texts, the seed as 64-bit integer,
/// figures as optional doubles.
///
/// # Errors
/// When `out` takes no more, or the store cannot be read.
pub fn write_parquet(runs: &Runs<'_>, out: impl Write + Send) -> Result<()> {
    let properties = WriterProperties::builder().set_created_by("polypath".to_owned()).build();
    let mut file =
        SerializedFileWriter::new(out, Arc::new(column_schema(runs)?), Arc::new(properties))?;
    let axes = 1 + runs.axes.len();
    for piece in runs.pieces() {
        let piece = piece.map_err(|error| ParquetError::External(Box::new(error)))?;
        let rows = piece.rows;
        let mut group = file.next_row_group()?;
        let text = |column: usize| {
            let cell = |run: &Run| runs.points.get(run.point)?.get(column).cloned();
            rows.iter().map(|run| cell(run).unwrap_or_default()).collect::<Vec<_>>()
        };
        (0..axes).try_for_each(|column| write_texts(&mut group, text(column)))?;
        let seeds: Vec<i64> = rows.iter().map(|run| run.seed.cast_signed()).collect();
        write_column::<Int64Type>(&mut group, &seeds, None)?;
        let settings = axes..axes + runs.settings.len();
        settings.into_iter().try_for_each(|column| write_texts(&mut group, text(column)))?;
        for name in &runs.metrics {
            let cells: Vec<Option<f64>> =
                (0..rows.len()).map(|run| piece.figure(run, name)).collect();
            let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
            let values: Vec<f64> = cells.into_iter().flatten().collect();
            write_column::<DoubleType>(&mut group, &values, Some(&levels))?;
        }
        group.close()?;
    }
    file.close().map(drop)
}

fn column_schema(runs: &Runs<'_>) -> Result<Type> {
    let column = |name: &str, physical: Physical, logical: Option<LogicalType>, null: bool| {
        let repetition = if null { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(name, physical);
        column.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let text = |name: &str| column(name, Physical::BYTE_ARRAY, Some(LogicalType::String), false);
    let mut columns = vec![text("grid")?];
    for axis in &runs.axes {
        columns.push(text(axis)?);
    }
    columns.push(column("seed", Physical::INT64, None, false)?);
    for setting in &runs.settings {
        columns.push(text(setting)?);
    }
    for metric in &runs.metrics {
        columns.push(column(metric, Physical::DOUBLE, None, true)?);
    }
    Type::group_type_builder("runs").with_fields(columns).build()
}

fn write_texts<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: Vec<String>,
) -> Result<()> {
    let cells: Vec<ByteArray> =
        cells.into_iter().map(|cell| ByteArray::from(cell.into_bytes())).collect();
    write_column::<ByteArrayType>(group, &cells, None)
}

fn write_column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column =
        next.ok_or_else(|| ParquetError::General("more columns than the schema has".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::RowAccessor as _;
    use polypath_experiments::store::{Key, Row, Store};
    use polypath_run::metrics::MetricValues;

    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let figures = |goodput: Option<f64>| {
            Row::from_metrics(MetricValues(vec![("goodput".into(), goodput)]))
        };
        let mut store = Store::in_memory();
        let mut run = |seed: u64, goodput| {
            let key = Key::from_content(&seed.to_le_bytes());
            store.add_row(key, figures(goodput)).unwrap();
            Run { point: 0, seed, key }
        };
        let rows = vec![run(7, Some(0.1 + 0.2)), run(8, None)];
        store.flush().unwrap();
        let cells = ["main", "64KiB", "10ms"].map(str::to_owned).to_vec();
        let runs = Runs {
            axes: vec!["buffer".into()],
            settings: vec!["scenario.path.A.delay".into()],
            metrics: vec!["goodput".into()],
            points: vec![cells],
            rows,
            store: &store,
        };
        let mut out = Vec::new();
        write_parquet(&runs, &mut out).unwrap();
        let file = SerializedFileReader::new(bytes::Bytes::from(out)).unwrap();
        let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get_string(1).unwrap(), "64KiB");
        assert_eq!(rows[0].get_long(2).unwrap(), 7);
        assert_eq!(rows[0].get_string(3).unwrap(), "10ms");
        assert_eq!(rows[0].get_double(4).unwrap(), 0.1 + 0.2);
        assert!(rows[1].get_double(4).is_err());
    }
}
