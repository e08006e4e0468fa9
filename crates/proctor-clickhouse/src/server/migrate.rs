//! The tables on a server, by version. A step is never taken back: a server whose tables are newer
//! than this program knows is left alone.

use super::{Server, ServerError, TOKENS_SINCE};
use crate::query::Error;
use crate::schema::{Table, quoted_text};

/// The version of the tables on a server. It grows whenever a table or column of the evidence comes
/// or changes; `STEPS` then gets what leads there from the version before.
pub const SCHEMA_VERSION: u32 = 1;

/// How many of the last insertions a table remembers by their token.
const WINDOW: u32 = 10_000;

/// What leads to a version from the one before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) version: u32,
    /// Statements that do no harm when they are run twice, since two programs may come at once.
    pub(super) statements: &'static [&'static str],
}

/// All steps, in order. Version 1 is the first.
const STEPS: &[Step] = &[];

/// Which version the tables have.
const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS proctor_schema (version UInt32, applied_at \
    DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY version";

/// What was sent of which trial: a row when sending begins, and one when all has arrived.
const PUSHES: &str = "CREATE TABLE IF NOT EXISTS proctor_pushes (run_id String, generation UInt32, \
    digest String, state String, row_count UInt64, at DateTime DEFAULT now()) ENGINE = MergeTree \
    ORDER BY (run_id, generation)";

impl Server {
    /// Makes the tables, or brings them to the version of this program. Returns the version.
    ///
    /// # Errors
    ///
    /// [`ServerError::Newer`] and [`ServerError::Foreign`], after which nothing was changed.
    pub fn prepare(&self, tables: &[Table]) -> Result<u32, Error> {
        Ok(self.migrate(tables, STEPS)?)
    }

    pub(super) fn migrate(&self, tables: &[Table], steps: &[Step]) -> Result<u32, ServerError> {
        let (major, minor) = self.known()?.version;
        if (major, minor) < TOKENS_SINCE {
            return Err(ServerError::TooOld { major, minor });
        }
        let known = steps.last().map_or(SCHEMA_VERSION, |step| step.version);
        let found = if self.has_table("proctor_schema")? {
            self.ask("SELECT max(version) FROM proctor_schema FORMAT TSV")?
        } else {
            self.refuse_foreign(tables)?;
            self.ask(VERSIONS)?;
            "0".to_owned()
        };
        let found: u32 =
            found.trim().parse().map_err(|_| ServerError::NotClickHouse(found.clone()))?;
        if found > known {
            return Err(ServerError::Newer { found, known });
        }
        if found == known {
            return Ok(known);
        }
        if found == 0 {
            self.ask(PUSHES)?;
            for table in tables {
                self.ask(&table.create(WINDOW))?;
            }
        }
        for step in steps.iter().filter(|step| found > 0 && step.version > found) {
            for statement in step.statements {
                self.ask(statement)?;
            }
        }
        // Twice the same version does no harm: the largest counts.
        self.ask(&format!("INSERT INTO proctor_schema (version) VALUES ({known})"))?;
        Ok(known)
    }

    /// A table of the same name that somebody else made would be filled otherwise.
    fn refuse_foreign(&self, tables: &[Table]) -> Result<(), ServerError> {
        for table in tables {
            if self.has_table(&table.name)? {
                let (database, table) = (self.address.database.clone(), table.name.clone());
                return Err(ServerError::Foreign { database, table });
            }
        }
        Ok(())
    }

    fn has_table(&self, name: &str) -> Result<bool, ServerError> {
        let said = self.ask(&format!(
            "SELECT count() FROM system.tables WHERE database = {} AND name = {} FORMAT TSV",
            quoted_text(&self.address.database),
            quoted_text(name)
        ))?;
        match said.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(ServerError::NotClickHouse(said.chars().take(80).collect())),
        }
    }
}
