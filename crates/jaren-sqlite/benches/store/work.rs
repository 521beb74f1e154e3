//! The work that all programs of this bench do: sessions whose document of some size has 200 bytes of it changed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::Poll;

use jaren_durable::Singleton;
use jaren_json::{Object, Value};

pub(crate) const STATE: Singleton = Singleton::new("bench.state", 1);

/// Bytes of the document whose changes are measured.
pub(crate) const DOCUMENT: usize = 8 << 10;
/// A document is written whole after so many deltas.
pub(crate) const DELTAS: u64 = 32;

/// A document of about so many bytes.
pub(crate) fn document(bytes: usize) -> Object {
    let filler = (0..bytes / 100).map(|at| (format!("member-{at:04}"), Value::from("x".repeat(84).as_str())));
    filler.chain([("step".to_owned(), Value::Null), ("last".to_owned(), Value::Null)]).collect()
}

/// The document as its `n`th change leaves it; the delta has 200 bytes.
pub(crate) fn changed(document: &Object, n: u64) -> Object {
    let text = |salt: u64, width: usize| {
        let mut text = String::new();
        let mut word = n.wrapping_add(1).wrapping_mul(salt);
        while text.len() < width {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            let _ = write!(text, "{word:016x}");
        }
        text.truncate(width);
        Value::from(text.as_str())
    };
    document.with("step", text(0x9E37_79B9_7F4A_7C15, 90)).with("last", text(0xC2B2_AE3D_27D4_EB4F, 76))
}

/// The path of a file that is not there, nor what goes with it.
pub(crate) fn fresh(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    remove(&path);
    path
}

pub(crate) fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm", "-turn", "-next"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}

/// Polls futures in one task until all are done.
pub(crate) async fn join<T>(mut futures: Vec<Pin<Box<dyn Future<Output = T> + Send>>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}
