//! ClickHouse itself, on this machine: `libchdb.so`, opened at run time and never linked.
//!
//! It runs in a process of its own, which is this program again as `proctor __clickhouse`: a
//! library of 566 MB that crashes, hangs or takes all memory must not take a run with it. That
//! process may read nothing but the system's libraries, write nothing but a folder of its own, and
//! reach no network, since ClickHouse reads files (`file('/etc/passwd')`) and writes them
//! (`INTO OUTFILE`) even where it is told to be read-only.

mod child;
mod confine;
mod engine;
mod ffi;
mod frame;
mod library;

pub use child::{ARGUMENT, main};
pub use engine::{Engine, Start};
pub use library::{FILE_NAME, Found, LIBRARY_VARIABLE, Places, find};
