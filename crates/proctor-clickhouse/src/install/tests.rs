use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha512};
use tempfile::TempDir;

use super::*;

/// An archive with these members, as `npm pack` leaves it.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in members {
        let mut header = tar::Header::new_gnu();
        // By hand, since the builder would refuse a path that leaves the folder.
        let name = path.as_bytes();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o600);
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// A package whose archive is `bytes`.
fn package(bytes: &[u8]) -> Package {
    let digest = base64::engine::general_purpose::STANDARD.encode(Sha512::digest(bytes));
    Package {
        name: "@fake/lib",
        version: "1.2.3",
        sha512: digest.leak(),
        system: (std::env::consts::OS, std::env::consts::ARCH),
        at_most: (1 << 20, 1 << 20),
    }
}

/// A folder with a program `npm` that runs `script`, in which `$DEST` is the folder for archives.
fn npm(script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("npm");
    let text = format!(
        "#!/bin/sh\n[ \"$1 $2 $3\" = 'pack @fake/lib@1.2.3 --pack-destination' ] || exit 9\n\
         DEST=$4\n{script}\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, path)
}

/// What is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn npm_fetches_and_the_library_is_unpacked_once() {
    let bytes = archive(&[("package/index.js", b"x"), ("package/libchdb.so", b"library")]);
    let package = package(&bytes);
    let (programs, npm) =
        npm("cp \"$(dirname \"$0\")/x.tgz\" \"$DEST\"; echo done >> \"$(dirname \"$0\")/log\"");
    fs::write(programs.path().join("x.tgz"), &bytes).unwrap();
    let target = tempfile::tempdir().unwrap();
    let to = target.path().join("a/b");
    let mut steps = Vec::new();
    let first = install(&package, Source::Npm(&npm), &to, &mut |step| steps.push(step)).unwrap();
    assert_eq!(steps, [Step::Fetching, Step::Checking, Step::Unpacking]);
    assert_eq!((first.size, first.was_there), (7, false));
    assert_eq!(fs::read(&first.path).unwrap(), b"library");
    assert_eq!(names(&to), ["libchdb.so", "package.txt"]);
    assert_eq!(version_in(&to).as_deref(), Some("1.2.3"));
    let again = install(&package, Source::Npm(&npm), &to, &mut |_| panic!("a step")).unwrap();
    assert!(again.was_there);
    assert_eq!(fs::read_to_string(programs.path().join("log")).unwrap(), "done\n");
}

#[test]
fn without_a_network_a_file_will_do() {
    let bytes = archive(&[("package/libchdb.so", b"library")]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tgz");
    fs::write(&file, &bytes).unwrap();
    let to = folder.path().join("to");
    let installed = install(&package(&bytes), Source::File(&file), &to, &mut |_| {}).unwrap();
    assert_eq!(fs::read(installed.path).unwrap(), b"library");
    assert!(file.exists());
}

/// The error of an installation from a file, after which nothing is left but what was there.
fn refused(package: &Package, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tgz");
    fs::write(&file, bytes).unwrap();
    let to = folder.path().join("to");
    fs::create_dir(&to).unwrap();
    fs::write(to.join(FILE_NAME), "old").unwrap();
    let error = install(package, Source::File(&file), &to, &mut |_| {}).unwrap_err();
    assert_eq!(names(&to), [FILE_NAME]);
    assert_eq!(fs::read(to.join(FILE_NAME)).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["to", "x.tgz"]);
    error.to_string().replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn another_archive_is_refused() {
    let good = archive(&[("package/libchdb.so", b"library")]);
    let error = refused(&package(&good), b"something else");
    assert!(error.starts_with("DIR/x.tgz is not @fake/lib@1.2.3: its SHA-512 is "), "{error}");
}

#[test]
fn sizes_have_limits() {
    let bytes = archive(&[("package/libchdb.so", &[7; 5000])]);
    let small = Package { at_most: (10, 1 << 20), ..package(&bytes) };
    assert_eq!(refused(&small, &bytes), "DIR/x.tgz is larger than 10 bytes");
    // A few bytes that unpack to many.
    let bomb = Package { at_most: (1 << 20, 4999), ..package(&bytes) };
    let error = refused(&bomb, &bytes);
    assert!(error.ends_with("libchdb.so is larger than 4999 bytes"), "{error}");
}

#[test]
fn only_the_library_is_ever_written() {
    let bytes = archive(&[("../../evil", b"x"), ("package/../../libchdb.so", b"x")]);
    assert_eq!(refused(&package(&bytes), &bytes), "DIR/x.tgz holds no package/libchdb.so");
    let broken = b"not gzip at all";
    let error = refused(&package(broken), broken);
    assert!(error.starts_with("DIR/x.tgz: "), "{error}");
}

#[test]
fn what_npm_says_is_passed_on() {
    let package = package(b"");
    let folder = tempfile::tempdir().unwrap();
    let fail = |script: &str| {
        let (_programs, npm) = npm(script);
        install(&package, Source::Npm(&npm), folder.path(), &mut |_| {}).unwrap_err().to_string()
    };
    assert_eq!(
        fail("echo 'npm error code E404' >&2; exit 1"),
        "`npm pack @fake/lib@1.2.3` failed (exit status: 1)\n  npm error code E404"
    );
    assert_eq!(fail("exit 0"), "`npm pack @fake/lib@1.2.3` left no archive");
    assert_eq!(fail("touch \"$DEST/a\" \"$DEST/b\""), "`npm pack @fake/lib@1.2.3` left no archive");
    let missing = folder.path().join("no-npm");
    let error = install(&package, Source::Npm(&missing), folder.path(), &mut |_| {}).unwrap_err();
    assert!(error.to_string().starts_with("`npm` cannot be started: "), "{error}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn other_systems_are_told_which_one_it_is_for() {
    let package = Package { system: ("plan9", "mips"), ..package(b"") };
    let error = refused(&package, b"");
    assert_eq!(error, "ClickHouse as a library is known for plan9 on mips only");
}
