//! What the program prints: text for people or JSON lines for programs, never a panic at a closed pipe.

use std::io::{self, Write};

use jaren::json::{Value, to_text};

use crate::exit::Exit;
use crate::problem::Problem;

/// Standard output, as text or as JSON lines.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    stdout: anstream::AutoStream<io::Stdout>,
    failed: Option<io::Error>,
}

impl Output {
    /// Standard output; `json` asks for JSON lines.
    pub(crate) fn new(json: bool) -> Self {
        Self { json, stdout: anstream::AutoStream::auto(io::stdout()), failed: None }
    }

    /// Whether programs read this.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one object for programs, or the text for people, which ends itself with a line end.
    pub(crate) fn print(&mut self, object: &Value, text: impl FnOnce() -> String) {
        if self.json {
            // What this program builds holds no NaN; a stored value cannot either.
            let line = to_text(object).unwrap_or_else(|_| "null".to_owned());
            self.write(format!("{line}\n").as_bytes());
        } else {
            self.write(text().as_bytes());
        }
    }

    /// Prints a problem: an object on standard output for programs, text on standard error for people.
    pub(crate) fn problem(&mut self, problem: &Problem) {
        if self.json {
            self.print(&problem.to_json(), String::new);
        } else {
            tell(&problem.render());
        }
    }

    /// What became of everything printed.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        let flushed = self.stdout.flush();
        written(self.failed.or_else(|| flushed.err()))
    }

    /// Writes until the stream fails for the first time; a run goes on though nobody reads what it prints.
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            let written = self.stdout.write_all(bytes).and_then(|()| self.stdout.flush());
            self.failed = written.err();
        }
    }
}

/// What the failure of standard output means, if it failed: nothing where the reader just went away.
pub(crate) fn written(failed: Option<io::Error>) -> Result<(), Problem> {
    match failed {
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Problem::new(Exit::Io, format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes text for people to standard error.
pub(crate) fn tell(text: &str) {
    // Nobody is left to be told that this failed.
    let _ = anstream::AutoStream::auto(io::stderr()).write_all(text.as_bytes());
}

/// A whole number as JSON; one beyond 2^53, which nothing here counts to, as null.
pub(crate) fn integer(number: impl TryInto<Value>) -> Value {
    number.try_into().unwrap_or(Value::Null)
}
