//! Agent programs that the user may have named, and their credentials.

use std::collections::BTreeMap;

use camino::Utf8Path;
use proctor_harness::Credentials;

/// A program as it is started from anywhere: a path is taken from the project root.
pub(super) fn program(name: &str, project: &Utf8Path) -> String {
    if name.contains('/') { project.join(name).into_string() } else { name.to_owned() }
}

/// That a harness has no credentials that its provider accepts.
pub(super) fn no_credentials(harness: &str, env: &BTreeMap<String, String>) -> String {
    let credentials = proctor_harness::find(harness)
        .map(|adapter| adapter.credentials(&|name| env.get(name).cloned(), &|path| path.is_file()));
    match credentials {
        Some(Credentials::Absent { tried }) => {
            format!("{harness} has no credentials: looked for {}", tried.join(", "))
        }
        _ => format!("the credentials of {harness} were refused; log in again, or set another key"),
    }
}
