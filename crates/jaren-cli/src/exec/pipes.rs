//! The three pipes of a command, carried at once so that neither side waits for the other.

use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::guard;
use crate::text;

/// Bytes of standard error that are kept: the end of it, where programs say what went wrong.
const STDERR_BYTES_MAX: usize = 8 << 10;

/// More was printed than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMuch;

/// A command's ends of the pipes, as far as it has them.
#[derive(Debug)]
pub(super) struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Pipes {
    /// Takes the pipes from the child.
    pub(super) fn take(child: &mut Child) -> Self {
        Self { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() }
    }

    /// Writes `input`, and reads both outputs to their ends. What was read so far is there even if this is dropped.
    pub(super) async fn carry(
        self,
        input: &[u8],
        output: &mut Vec<u8>,
        output_max: usize,
        errors: &mut Tail,
    ) -> Result<(), TooMuch> {
        let feed = async {
            if let Some(mut stdin) = self.stdin {
                // A command that does not want its input may close it; that is no failure.
                let _ = stdin.write_all(&[guard::GO]).await;
                let _ = stdin.write_all(input).await;
            }
            Ok(())
        };
        let read_output = async {
            match self.stdout {
                Some(stdout) => read_up_to(stdout, output, output_max).await,
                None => Ok(()),
            }
        };
        let read_errors = async {
            if let Some(stderr) = self.stderr {
                read_tail(stderr, errors).await;
            }
            Ok(())
        };
        tokio::try_join!(feed, read_output, read_errors).map(|_| ())
    }
}

/// Pipes on their way.
pub(super) struct Carrying<'a>(Option<Carry<'a>>);

type Carry<'a> = Pin<Box<dyn Future<Output = Result<(), TooMuch>> + Send + 'a>>;

impl<'a> Carrying<'a> {
    /// Nothing moves before it is awaited.
    pub(super) fn new(carry: impl Future<Output = Result<(), TooMuch>> + Send + 'a) -> Self {
        Self(Some(Box::pin(carry)))
    }

    /// Ready once, when everything is carried; for ever pending afterwards, as a branch of `select!` wants it.
    pub(super) async fn done(&mut self) -> Result<(), TooMuch> {
        if self.0.is_none() {
            pending::<()>().await;
        }
        self.rest().await
    }

    /// Carries what is left.
    pub(super) async fn rest(&mut self) -> Result<(), TooMuch> {
        let Some(carry) = &mut self.0 else { return Ok(()) };
        let carried = carry.await;
        self.0 = None;
        carried
    }
}

async fn read_up_to(mut from: impl AsyncRead + Unpin, into: &mut Vec<u8>, max: usize) -> Result<(), TooMuch> {
    // One byte more than allowed tells "all of it" from "too much".
    let most = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    // A pipe's read fails only when it is closed under us; what came before counts.
    let _ = (&mut from).take(most).read_to_end(into).await;
    if into.len() > max { Err(TooMuch) } else { Ok(()) }
}

async fn read_tail(mut from: impl AsyncRead + Unpin, into: &mut Tail) {
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        into.push(chunk.get(..read).unwrap_or_default());
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: VecDeque<u8>,
    dropped: u64,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend(bytes);
        let excess = self.kept.len().saturating_sub(STDERR_BYTES_MAX);
        self.kept.drain(..excess);
        self.dropped += excess as u64;
    }

    /// The text, with control characters made visible and what was left out counted.
    pub(super) fn into_text(self) -> String {
        let bytes: Vec<u8> = self.kept.into();
        let text = String::from_utf8_lossy(&bytes);
        let text = text::lines(text.trim_end());
        if self.dropped > 0 {
            format!("[{} bytes before this were left out]\n{text}", self.dropped)
        } else {
            text.into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_end_and_counts_the_rest() {
        let mut tail = Tail::default();
        tail.push(&[b'a'; STDERR_BYTES_MAX]);
        tail.push(b"\x1b[2Jend\n");
        let text = tail.into_text();
        assert!(text.starts_with("[8 bytes before this were left out]\naaa"), "{text}");
        assert!(text.ends_with("a\\u{1b}[2Jend"), "{text}");
    }
}
