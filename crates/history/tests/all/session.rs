//! A connection of somebody else to the same database.

use sqlx::AnyConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};
use tokio::runtime::{Builder, Runtime};

pub struct Session {
    runtime: Runtime,
    connection: AnyConnection,
}

impl Session {
    pub fn to(url: &str) -> Self {
        sqlx::any::install_default_drivers();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        // A user belongs to a host in a URL; a socket has none.
        let url = url.replace("postgres://tester@/", "postgres:///")
            + if url.contains("tester@/") {
                "&user=tester"
            } else {
                ""
            };
        let connection = runtime.block_on(AnyConnection::connect(&url)).unwrap();
        Self {
            runtime,
            connection,
        }
    }

    pub fn file(path: &std::path::Path) -> Self {
        Self::to(&format!("sqlite:{}?mode=rwc", path.display()))
    }

    pub fn run(&mut self, sql: &str) {
        let work = self
            .connection
            .execute(sqlx::raw_sql(AssertSqlSafe(sql.to_owned())));
        self.runtime.block_on(work).unwrap();
    }

    /// The first column of the first row, a whole number.
    pub fn number(&mut self, sql: &str) -> i64 {
        let question = sqlx::query_scalar(AssertSqlSafe(sql.to_owned()));
        self.runtime
            .block_on(question.fetch_one(&mut self.connection))
            .unwrap()
    }

    pub fn close(self) {
        self.runtime.block_on(self.connection.close()).unwrap();
    }
}
