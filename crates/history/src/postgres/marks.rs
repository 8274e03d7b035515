//! Changes of level beside the numbers, for those who only speak SQL.

use nicety_model::compare::Metric;
use nicety_model::history::TrendChange;
use postgres::Transaction;

/// Puts a cell's changes in the place of those that were there.
pub fn replace(
    transaction: &mut Transaction<'_>,
    cell: &str,
    metric: Metric,
    changes: &[TrendChange],
) -> Result<(), postgres::Error> {
    transaction.execute(
        "DELETE FROM nicety.changes WHERE cell = $1 AND metric = $2",
        &[&cell, &metric.word()],
    )?;
    let insert = "INSERT INTO nicety.changes VALUES ($1, $2, $3, $4, $5, $6, $7)";
    for change in changes {
        transaction.execute(
            insert,
            &[
                &change.id,
                &cell,
                &metric.word(),
                &change.before,
                &change.after,
                &change.ratio,
                &change.p,
            ],
        )?;
    }
    Ok(())
}
