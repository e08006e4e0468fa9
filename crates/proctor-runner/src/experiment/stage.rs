//! Files of the host on their way into a workspace.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::{Arc, OnceLock};

use camino::Utf8Path;
use proctor_formats::experiment::{Item, ItemKind, Preflight, Source};
use proctor_model::Digest;
use proctor_model::experiment::{FileEntry, Variant};
use proctor_sandbox::workspace::Base;
use proctor_sandbox::{Room, Rooms};

/// The workspaces from which the trials of a run start, made when the first trial of a variant
/// needs one, and shared by its repetitions.
pub(super) struct Bases<'a> {
    rooms: &'a Rooms,
    preflight: &'a Preflight,
    made: Vec<OnceLock<Result<Staged, String>>>,
}

/// A frozen workspace, and the room in which it lies.
struct Staged {
    base: Arc<Base>,
    _room: Room,
}

impl<'a> Bases<'a> {
    /// For so many variants.
    pub(super) fn new(rooms: &'a Rooms, preflight: &'a Preflight, variants: usize) -> Self {
        let made = (0..variants).map(|_| OnceLock::new()).collect();
        Self { rooms, preflight, made }
    }

    /// The workspace of the variant with this index; the error says which file could not be
    /// delivered.
    pub(super) fn get(&self, index: usize, variant: &Variant) -> Result<Arc<Base>, String> {
        let Some(cell) = self.made.get(index) else {
            return Err("there is no such variant".to_owned());
        };
        let staged = cell.get_or_init(|| self.stage(variant));
        staged.as_ref().map(|staged| Arc::clone(&staged.base)).map_err(Clone::clone)
    }

    fn stage(&self, variant: &Variant) -> Result<Staged, String> {
        let room = self.rooms.create("base").map_err(|error| error.to_string())?;
        let folder = room.root().join("base");
        fs::create_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
        for file in variant.staged_files() {
            deliver(self.preflight, variant, file, &folder)?;
        }
        for (dest, source) in &self.preflight.extra {
            copy(source, &folder.join(dest.as_path()))
                .map_err(|error| format!("`{}` cannot be delivered: {error}", dest.as_str()))?;
        }
        let base = Base::freeze(folder.as_std_path()).map_err(|error| error.to_string())?;
        Ok(Staged { base, _room: room })
    }
}

/// Puts one file of a variant below `folder`.
pub(super) fn deliver(
    preflight: &Preflight,
    variant: &Variant,
    file: &FileEntry,
    folder: &Utf8Path,
) -> Result<(), String> {
    let name = &file.name;
    let source = preflight
        .source_of(variant, file)
        .ok_or_else(|| format!("file `{name}` has no source; bind it with `--file {name}=PATH`"))?;
    copy(source, &folder.join(file.dest.as_path()))
        .map_err(|error| format!("file `{name}` cannot be delivered: {error}"))
}

/// Copies what preflight has seen of a source. A file that is no longer what it was then is an
/// error: fingerprints say what was staged.
pub(super) fn copy(source: &Source, dest: &Utf8Path) -> io::Result<()> {
    if source.is_folder {
        fs::create_dir_all(dest)?;
    }
    for item in &source.items {
        let to = if item.path.is_empty() { dest.to_owned() } else { dest.join(&item.path) };
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        place(source, item, &to).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", source.host_path(item)))
        })?;
    }
    Ok(())
}

fn place(source: &Source, item: &Item, to: &Utf8Path) -> io::Result<()> {
    match &item.kind {
        ItemKind::EmptyFolder => fs::create_dir_all(to),
        ItemKind::Link { target } => symlink(target, to),
        ItemKind::File { is_executable, digest, .. } => {
            let written = copy_file(&source.host_path(item), to)?;
            if written != *digest {
                return Err(io::Error::other("it has changed since it was looked at"));
            }
            let mode = if *is_executable { 0o755 } else { 0o644 };
            fs::set_permissions(to, Permissions::from_mode(mode))
        }
    }
}

fn copy_file(from: &Utf8Path, to: &Utf8Path) -> io::Result<Digest> {
    let mut reader = File::open(from)?;
    let mut writer = File::create_new(to)?;
    let mut digest = Digest::stream();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = reader.read(&mut buffer)?;
        let Some(bytes) = buffer.get(..length).filter(|bytes| !bytes.is_empty()) else { break };
        digest.update(bytes);
        writer.write_all(bytes)?;
    }
    Ok(digest.finish())
}
