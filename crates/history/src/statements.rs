//! Statements as text: what stays the same in all of them.

use sqlx::AnyConnection;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;
use sqlx::{Any, AssertSqlSafe};

/// Finds one figure for each cell of a run: none for its further loss goals.
pub const OF_CELLS: &str = "metric = 'throughput' AND cell NOT LIKE '%/goal=%'";

/// Parameters of one statement; SQLite takes 32,766 and PostgreSQL 65,535.
const MOST: usize = 8_000;

/// A statement that was put together from words of this crate; values are bound to it.
pub fn query<'a>(sql: String) -> Query<'a, Any, AnyArguments> {
    sqlx::query(AssertSqlSafe(sql))
}

/// `($1, $2), ($3, $4)`: places for the values of `rows` rows.
fn places(rows: usize, columns: usize) -> String {
    let row = |row: usize| {
        let places = (1..=columns).map(|column| format!("${}", row * columns + column));
        format!("({})", places.collect::<Vec<_>>().join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// Inserts rows of `columns` values with as few statements as can be: `INSERT INTO {into} VALUES … {then}`. `bind` binds
/// the values of one row.
pub async fn insert<T>(
    connection: &mut AnyConnection,
    (into, then): (&str, &str),
    rows: &[T],
    columns: usize,
    bind: impl for<'q> Fn(Query<'q, Any, AnyArguments>, &T) -> Query<'q, Any, AnyArguments>,
) -> Result<(), sqlx::Error> {
    for part in rows.chunks(MOST / columns) {
        let sql = format!(
            "INSERT INTO {into} VALUES {} {then}",
            places(part.len(), columns)
        );
        let query = part.iter().fold(query(sql), &bind);
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

/// Every row that a statement finds, through `take`.
pub async fn all<T>(
    connection: &mut AnyConnection,
    query: Query<'_, Any, AnyArguments>,
    take: impl Fn(&AnyRow) -> Result<T, sqlx::Error>,
) -> Result<Vec<T>, sqlx::Error> {
    let rows = query.fetch_all(connection).await?;
    rows.iter().map(take).collect()
}
