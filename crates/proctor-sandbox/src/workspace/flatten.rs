//! An overlay without the kernel: what it would show, as plain files.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::build::{Builder, Meta, copy_tree, make_folder};
use super::layer::is_opaque;
use super::walk::{Kind, Next, open_root, walk};
use crate::remove::remove_tree;

/// Copies what an overlay of `layers`, the uppermost first, shows into the folder `to`.
pub(super) fn flatten(layers: &[impl AsRef<Path>], to: &Path) -> io::Result<()> {
    let Some((lowest, uppers)) = layers.split_last() else { return Ok(()) };
    let target = make_folder(to)?;
    copy_tree(open_root(lowest.as_ref())?.as_fd(), target.as_fd())?;
    for upper in uppers.iter().rev() {
        apply(upper.as_ref(), to)?;
    }
    Ok(())
}

/// Does to the tree `to` what the upper layer says. Nothing else may change it meanwhile: every
/// folder of the layer has taken the place of whatever was there before what is in it comes.
fn apply(upper: &Path, to: &Path) -> io::Result<()> {
    let (from, target) = (open_root(upper)?, open_root(to)?);
    let mut builder = Builder::new(target.as_fd());
    let mut seen = BTreeMap::new();
    walk(from.as_fd(), &mut |entry| {
        let here = to.join(OsStr::from_bytes(entry.path));
        let is_folder = here.symlink_metadata().is_ok_and(|found| found.is_dir());
        if entry.kind() == Kind::Folder && is_folder && !is_opaque(entry)? {
            builder.adopt(entry.path, Meta::of(entry));
            return Ok(Next::Enter);
        }
        builder.forget();
        remove_tree(&here)?;
        match entry.kind() {
            Kind::Whiteout => Ok(Next::Pass),
            Kind::Folder => {
                builder.folder(entry.path, Meta::of(entry), false)?;
                Ok(Next::Enter)
            }
            _ => builder.copy(entry, &mut seen),
        }
    })?;
    builder.finish(Some(Meta::of_folder(from.as_fd())?))
}
