//! Prints the items of queries and transforms: byte for byte, for the next program in the pipe.

use std::io::{self, BufWriter, IsTerminal as _, Write as _};

use jaren::json::{Pointer, Value, pretty, to_text};

use crate::args::Pipe;
use crate::output;
use crate::problem::Problem;
use crate::text;

/// Standard output, buffered; what is printed is not changed on its way.
pub(crate) struct Printer {
    out: BufWriter<io::Stdout>,
    layout: Layout,
    is_raw: bool,
    is_terminal: bool,
    failed: Option<io::Error>,
}

#[derive(Clone, Copy)]
enum Layout {
    Compact,
    Pretty,
    /// An object that says where the item came from.
    Record,
}

impl Printer {
    /// A printer of items; `json` asks for records.
    pub(crate) fn new(options: &Pipe, json: bool) -> Self {
        let out = io::stdout();
        let is_terminal = out.is_terminal();
        let layout = if json {
            Layout::Record
        } else if options.pretty || (is_terminal && !options.compact) {
            Layout::Pretty
        } else {
            Layout::Compact
        };
        Self { out: BufWriter::new(out), layout, is_raw: options.raw, is_terminal, failed: None }
    }

    /// Prints an item of the answer for the input of that number; the error leads to a number that JSON does not have.
    pub(crate) fn item(&mut self, item: &Value, input: u64) -> Result<(), Pointer> {
        if let (true, Some(text)) = (self.is_raw, item.as_str()) {
            self.line(text);
            return Ok(());
        }
        let text = match self.layout {
            Layout::Compact => to_text(item),
            Layout::Pretty => pretty(item),
            Layout::Record => {
                to_text(item).map(|text| format!("{{\"type\":\"item\",\"input\":{input},\"value\":{text}}}"))
            }
        };
        let text = text.map_err(|error| error.pointer().clone())?;
        if self.is_terminal {
            self.line(&text::json(&text));
        } else {
            self.line(&text);
        }
        Ok(())
    }

    /// Whether anybody still reads.
    pub(crate) fn is_open(&self) -> bool {
        self.failed.is_none()
    }

    /// Hands on what was printed.
    pub(crate) fn flush(&mut self) {
        if self.is_open() {
            self.failed = self.out.flush().err();
        }
    }

    /// What became of everything printed.
    pub(crate) fn finish(mut self) -> Result<(), Problem> {
        self.flush();
        output::written(self.failed)
    }

    fn line(&mut self, text: &str) {
        if self.is_open() {
            let written = self.out.write_all(text.as_bytes()).and_then(|()| self.out.write_all(b"\n"));
            self.failed = written.err();
        }
    }
}
