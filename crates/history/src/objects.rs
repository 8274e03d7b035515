//! What an SQLite file holds. A file of a stranger may have a view in the place of a table, which never ends, or a
//! trigger, which writes what it likes (sqlite.org/security.html): all that is there must be what the steps make.

use sqlx::{AnyConnection, Row};

use crate::statements::all;

/// Far more than the steps make: one of so many is not theirs.
const QUESTION: &str = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema LIMIT 1000";
/// Of AUTOINCREMENT (sqlite.org/autoinc.html).
const SEQUENCE: &str = "CREATE TABLE sqlite_sequence(name,seq)";

/// A table, index, view or trigger.
struct Object {
    kind: String,
    name: String,
    /// The statement that made it; empty for what comes with a table.
    sql: String,
}

/// All that is in a file.
pub struct Objects(Vec<Object>);

impl Objects {
    /// Of an open file.
    pub async fn read(connection: &mut AnyConnection) -> Result<Self, sqlx::Error> {
        let rows = all(connection, sqlx::query(QUESTION), |row| {
            Ok(Object {
                kind: row.try_get(0)?,
                name: row.try_get(1)?,
                sql: row.try_get(2)?,
            })
        });
        Ok(Self(rows.await?))
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a table is there as one of the steps makes it.
    pub fn has(&self, table: &str, steps: &[&str]) -> bool {
        let mut objects = self.0.iter();
        objects.any(|object| object.name == table && made_by(steps, &object.sql))
    }

    /// Kind and name of something that none of the steps makes.
    pub fn strange(&self, steps: &[&str]) -> Option<String> {
        let made = |object: &&Object| {
            let Object { kind, name, sql } = object;
            let of_table =
                kind == "index" && name.starts_with("sqlite_autoindex_") && sql.is_empty();
            of_table || sql == SEQUENCE || made_by(steps, sql)
        };
        let strange = self.0.iter().find(|object| !made(object))?;
        Some(format!("{} {}", strange.kind, strange.name))
    }
}

/// SQLite keeps statements as they were written.
fn made_by(steps: &[&str], sql: &str) -> bool {
    let mut statements = steps.iter().flat_map(|step| step.split(';'));
    !sql.is_empty() && statements.any(|statement| statement.trim() == sql)
}
