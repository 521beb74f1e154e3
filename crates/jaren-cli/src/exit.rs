//! Exit codes: the program's contract with scripts, listed in `docs/cli.md`.

use std::process::ExitCode;

/// How the program ended, as the calling shell sees it.
///
/// The numbers are stable: a script may compare against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// The command did what it was asked; for `run`, `resume` and `send`: the run is done, or nothing was to be driven.
    Success = 0,
    /// A task failed, or the run broke one of its own rules; it is kept, and `resume` tries again.
    /// With `--exit-status`: the last item is false or null, or there is none.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// A document, a tasks file or an input is malformed; nothing was run.
    Document = 3,
    /// No such file, run or store.
    NotFound = 4,
    /// Another process is executing the run.
    Busy = 5,
    /// The store refused: not ours, newer, full, unreadable.
    Store = 6,
    /// What was asked contradicts what is stored: another document, another input, a finished run.
    Conflict = 7,
    /// A file or a stream could not be read or written.
    Io = 8,
    /// A query or a stylesheet fails on a value that it was given.
    Evaluation = 9,
    /// The run waits for an event or a time; it is stored and goes on with `send` or `resume`.
    Waiting = 10,
    /// Stopped by Ctrl-C or SIGTERM; the run is stored and goes on with `resume`.
    Interrupted = 130,
}

impl Exit {
    /// The word that stands for this code in `--json` output.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Document => "document",
            Self::NotFound => "not-found",
            Self::Busy => "busy",
            Self::Store => "store",
            Self::Conflict => "conflict",
            Self::Io => "io",
            Self::Evaluation => "evaluation",
            Self::Waiting => "waiting",
            Self::Interrupted => "interrupted",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
