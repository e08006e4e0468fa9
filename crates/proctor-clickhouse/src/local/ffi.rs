//! The functions of `libchdb.so` that are needed, declared by hand after its `chdb.h`.
#![expect(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::path::Path;
use std::ptr::NonNull;

use libloading::Library;
use nix::libc;

/// `chdb_connection *`.
type RawConnection = *mut *mut c_void;
/// `chdb_result *`.
type RawResult = *mut c_void;

type Connect = unsafe extern "C" fn(c_int, *mut *mut c_char) -> RawConnection;
type Close = unsafe extern "C" fn(RawConnection);
type Run = unsafe extern "C" fn(
    *mut c_void,
    *const c_char,
    libc::size_t,
    *const c_char,
    libc::size_t,
) -> RawResult;
type Destroy = unsafe extern "C" fn(RawResult);
type Buffer = unsafe extern "C" fn(RawResult) -> *mut c_char;
type Length = unsafe extern "C" fn(RawResult) -> libc::size_t;
type ErrorOf = unsafe extern "C" fn(RawResult) -> *const c_char;

/// The open library. It is never closed: its threads outlive every call, and closing it under them
/// crashes.
#[derive(Debug)]
pub(super) struct Chdb {
    connect: Connect,
    close: Close,
    run: Run,
    destroy: Destroy,
    buffer: Buffer,
    length: Length,
    error: ErrorOf,
    /// Not `Sync`: one thread speaks to the library.
    one_thread: PhantomData<*const ()>,
}

/// A session: settings that are made in it hold in it alone.
#[derive(Debug)]
pub(super) struct Session<'a> {
    chdb: &'a Chdb,
    raw: NonNull<*mut c_void>,
}

/// An answer, in the library's memory.
#[derive(Debug)]
pub(super) struct Body<'a> {
    chdb: &'a Chdb,
    raw: NonNull<c_void>,
    bytes: &'a [u8],
}

impl Chdb {
    /// Opens the library.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: opening runs the library's own initialisers, which is what the user asked for by
        // installing it; it is never closed.
        let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
        let library = ManuallyDrop::new(library);
        /// The function `$name`; its type is that of `chdb.h`.
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type is the one that `chdb.h` declares for this name, and the
                // library stays open for ever.
                unsafe { library.get($name) }.map(|symbol| *symbol).map_err(|error| {
                    format!("{} is no libchdb, or too old: {error}", path.display())
                })?
            };
        }
        Ok(Self {
            connect: function!(b"chdb_connect\0"),
            close: function!(b"chdb_close_conn\0"),
            run: function!(b"chdb_query_n\0"),
            destroy: function!(b"chdb_destroy_query_result\0"),
            buffer: function!(b"chdb_result_buffer\0"),
            length: function!(b"chdb_result_length\0"),
            error: function!(b"chdb_result_error\0"),
            one_thread: PhantomData,
        })
    }

    /// A new session over the data in a folder, which must be the same each time.
    pub(super) fn session(&self, data: &Path) -> Result<Session<'_>, String> {
        let data = data.to_str().ok_or("the folder of the data is not UTF-8")?;
        let path = CString::new(format!("--path={data}")).map_err(|error| error.to_string())?;
        let mut arguments = [c"clickhouse".as_ptr().cast_mut(), path.as_ptr().cast_mut()];
        // SAFETY: two texts that end with NUL and outlive the call; the library reads them only.
        let raw = unsafe { (self.connect)(2, arguments.as_mut_ptr()) };
        let raw = NonNull::new(raw).ok_or_else(|| format!("it cannot open its data in {data}"))?;
        Ok(Session { chdb: self, raw })
    }
}

impl Session<'_> {
    /// Runs one statement; what it says goes out in `format` where it names none itself.
    pub(super) fn run(&self, sql: &[u8], format: &str) -> Result<Body<'_>, String> {
        let chdb = self.chdb;
        // SAFETY: the session is open, since only `drop` closes it, and both texts are passed with
        // their lengths.
        let raw = unsafe {
            (chdb.run)(
                *self.raw.as_ptr(),
                sql.as_ptr().cast(),
                sql.len(),
                format.as_ptr().cast(),
                format.len(),
            )
        };
        let raw = NonNull::new(raw).ok_or("the library gave no answer")?;
        let mut body = Body { chdb, raw, bytes: &[] };
        // SAFETY: the result is alive, and its error is NULL or a text that ends with NUL.
        let error = unsafe {
            let error = (chdb.error)(raw.as_ptr());
            (!error.is_null()).then(|| CStr::from_ptr(error))
        };
        if let Some(error) = error {
            return Err(error.to_string_lossy().trim_end().to_owned());
        }
        // SAFETY: the buffer is as long as the library says, and lives as long as the result.
        body.bytes = unsafe {
            let (start, length) = ((chdb.buffer)(raw.as_ptr()), (chdb.length)(raw.as_ptr()));
            if start.is_null() { &[] } else { std::slice::from_raw_parts(start.cast(), length) }
        };
        Ok(body)
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // SAFETY: it is open, and nothing of it is used afterwards.
        unsafe { (self.chdb.close)(self.raw.as_ptr()) }
    }
}

impl Deref for Body<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Body<'_> {
    fn drop(&mut self) {
        // SAFETY: it is alive, and `bytes` cannot be reached any more.
        unsafe { (self.chdb.destroy)(self.raw.as_ptr()) }
    }
}

/// Ends this process at once, without what the library would do at the end of a program.
pub(super) fn exit_now(code: c_int) -> ! {
    // SAFETY: it touches nothing of this process.
    unsafe { libc::_exit(code) }
}
