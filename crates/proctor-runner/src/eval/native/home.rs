//! The home directory of a session: as little as possible of the user's takes part.

use std::collections::BTreeMap;
use std::io;

use camino::Utf8PathBuf;
use proctor_harness::{Adapter, Credentials};
use proctor_sandbox::Room;

/// Why a session has no home.
#[derive(Debug, thiserror::Error)]
pub(super) enum HomeError {
    /// The system refused something.
    #[error("the home of the session cannot be made: {0}")]
    Io(#[from] io::Error),
    /// The harness would find the skill twice.
    #[error("a copy of the skill in {path} would answer for it; move it away, or set a key")]
    Copy {
        /// The copy.
        path: String,
    },
}

/// Sets the home directory and the program's own folder in `env`. Says what of the user's may have
/// had a say, if anything.
///
/// With credentials in variables both are new. A login lies in files, which are used where they
/// are: a copy of them would end it as soon as the program renews it.
pub(super) fn furnish(
    env: &mut BTreeMap<String, String>,
    room: &Room,
    adapter: &dyn Adapter,
    skill: &str,
) -> Result<Option<String>, HomeError> {
    let lookup = |name: &str| env.get(name).cloned();
    let is_sealed = adapter.credentials(&lookup, &|_| false) == Credentials::Present;
    let folder = adapter.own_folder();
    if is_sealed {
        let home = new_home(room)?;
        if let Some(folder) = folder {
            let own = home.join(folder.default);
            fs_err::create_dir_all(&own)?;
            env.insert(folder.variable.to_owned(), own.into_string());
        }
        env.insert("HOME".to_owned(), home.into_string());
        return Ok(None);
    }
    if let Some(folder) = folder.filter(|folder| folder.is_enough)
        && let Some(own) = folder.locate(&lookup)
    {
        let copy = own.join("skills").join(skill);
        if copy.exists() {
            return Err(HomeError::Copy { path: copy.display().to_string() });
        }
        env.insert(folder.variable.to_owned(), own.to_string_lossy().into_owned());
        env.insert("HOME".to_owned(), new_home(room)?.into_string());
    }
    Ok(Some(format!(
        "{} ran with your own login: settings beside it may have had a say; set a key in the \
         environment to keep them out",
        adapter.id()
    )))
}

fn new_home(room: &Room) -> io::Result<Utf8PathBuf> {
    let home = room.root().join("home");
    fs_err::create_dir_all(&home)?;
    Ok(home)
}
