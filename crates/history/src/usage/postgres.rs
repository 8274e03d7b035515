//! Usage on a PostgreSQL server.

use std::ops::Range;

use nicety_model::bill::UsageRow;
use postgres::Row;

use super::columns::{self, NAMES, of};
use crate::Postgres;
use crate::error::HistoryError;

impl Postgres {
    pub(crate) fn replace_usage(&self, rows: &[UsageRow]) -> Result<(), HistoryError> {
        let names = NAMES.join(", ");
        let set = NAMES
            .map(|name| format!("{name} = excluded.{name}"))
            .join(", ");
        let arrays: Vec<String> = (4..4 + NAMES.len())
            .map(|at| format!("${at}::bigint[]"))
            .collect();
        let sql = format!(
            "INSERT INTO nicety.usage (host, tenant, start, {names}) \
             SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], {}) \
             ON CONFLICT (start, tenant, host) DO UPDATE SET {set}",
            arrays.join(", ")
        );
        let hosts: Vec<&str> = rows.iter().map(|row| row.host.as_str()).collect();
        let tenants: Vec<&str> = rows.iter().map(|row| row.tenant.as_str()).collect();
        let starts: Vec<i64> = rows.iter().map(|row| row.start).collect();
        let numbers: Vec<[i64; NAMES.len()]> = rows.iter().map(|row| of(&row.usage)).collect();
        let column = |at: usize| numbers.iter().map(|of| of[at]).collect::<Vec<i64>>();
        let columns: Vec<Vec<i64>> = (0..NAMES.len()).map(column).collect();
        let mut values: Vec<&(dyn postgres::types::ToSql + Sync)> = vec![&hosts, &tenants, &starts];
        for column in &columns {
            values.push(column);
        }
        // Nobody else writes these rows: the same once more changes nothing.
        self.retried("write to", |client, _| {
            client.execute(&sql, &values)?;
            Ok(())
        })
    }

    pub(crate) fn usage_in(
        &self,
        time: Range<i64>,
        tenant: Option<&str>,
    ) -> Result<Vec<UsageRow>, HistoryError> {
        let sql = format!(
            "SELECT host, tenant, start, {} FROM nicety.usage WHERE start >= $1 AND start < $2 \
             AND ($3::text IS NULL OR tenant = $3) ORDER BY start, tenant, host",
            NAMES.join(", ")
        );
        self.all(&sql, &[&time.start, &time.end, &tenant], |row: &Row| {
            let whose = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            columns::row(whose, |at| row.try_get(at))
        })
    }
}
