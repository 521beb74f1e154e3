//! Reads the JSON values of a file or a pipe one after the other, each as soon as its last byte is there.
//!
//! No more than one value is held. Where values end is told by counting brackets; what that sees to be no JSON is handed
//! to the reader as far as it goes, so that a mistake is told at once and not after gigabytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use jaren::json::read::ReadErrorKind;
use jaren::json::{Integers, ReadError, ReadOptions, Reader, Value};

use crate::exit::Exit;
use crate::input::{STANDARD_INPUT, text_defect};
use crate::problem::{Problem, Source, Start};

/// Bytes that are asked for at a time.
const CHUNK: usize = 64 << 10;

/// The values of a file or a pipe.
pub(crate) struct Stream {
    from: Box<dyn Read>,
    name: String,
    reader: Reader,
    /// What was read and not yet taken.
    buffer: Vec<u8>,
    /// How much of the buffer's head was taken.
    taken: usize,
    /// Where in the file the rest begins.
    place: Start,
    /// Bytes before that place.
    passed: usize,
    /// Whether there is no more to read.
    ended: bool,
    /// Values so far.
    count: u64,
}

/// A value and where it came from.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) value: Value,
    /// Which one it is, from 1.
    pub(crate) number: u64,
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
}

impl Stream {
    /// The values of a file; of standard input where it is `-`.
    pub(crate) fn open(path: &Path, round: bool) -> Result<Self, Problem> {
        let (from, name): (Box<dyn Read>, _) = if path == Path::new("-") {
            (Box::new(io::stdin()), STANDARD_INPUT.to_owned())
        } else {
            let file = File::open(path).map_err(|error| Problem::unreadable(path, "file", &error))?;
            (Box::new(file), path.display().to_string())
        };
        let integers = if round { Integers::Nearest } else { Integers::Exact };
        Ok(Self::new(from, name, ReadOptions { integers, ..ReadOptions::data() }))
    }

    fn new(from: Box<dyn Read>, name: String, options: ReadOptions) -> Self {
        let (buffer, place) = (Vec::new(), Start::default());
        let reader = Reader::new(options);
        Self { from, name, reader, buffer, taken: 0, place, passed: 0, ended: false, count: 0 }
    }

    /// The name of the file, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How many values there were so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The next value, or nothing at the end. Before it waits for more bytes it calls `wait`.
    pub(crate) fn next(&mut self, mut wait: impl FnMut()) -> Result<Option<Input>, Problem> {
        let mut frame = Frame::default();
        let length = loop {
            if frame.scanned == 0 {
                self.skip_space();
            }
            let rest = self.buffer.get(self.taken..).unwrap_or_default();
            if let Some(length) = frame.scan(rest, self.reader.options().depth_max) {
                break length;
            }
            if rest.len() > self.reader.options().bytes_max {
                return Err(self.too_large());
            }
            if self.ended {
                if rest.is_empty() {
                    return Ok(None);
                }
                break rest.len();
            }
            wait();
            self.fill()?;
        };
        self.count += 1;
        let rest = self.buffer.get(self.taken..).unwrap_or_default();
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        match self.reader.read(text) {
            Ok(value) => {
                let input = Input { value, number: self.count, line: self.place.line };
                self.take(length);
                Ok(Some(input))
            }
            Err(error) => {
                // What follows in the line is shown, too.
                let line = after.iter().take_while(|byte| **byte != b'\n').count();
                let shown = rest.get(..length.saturating_add(line)).unwrap_or(text);
                let source = Source::part(Path::new(&self.name), shown, self.place);
                Err(self.unreadable(&error, source))
            }
        }
    }

    /// Adds all values that are left to others, of which the text was so long.
    pub(crate) fn slurp(&mut self, values: &mut Vec<Value>, bytes: &mut usize) -> Result<(), Problem> {
        let before = *bytes;
        while let Some(input) = self.next(|| {})? {
            values.push(input.value);
            let max = self.reader.options().bytes_max;
            *bytes = before.saturating_add(self.passed);
            if *bytes > max {
                let name = &self.name;
                let message =
                    format!("the values up to those of {name} together are larger than {max} bytes");
                return Err(
                    Problem::new(Exit::Document, message).with_help("take them one by one, without --slurp")
                );
            }
        }
        Ok(())
    }

    fn unreadable(&self, error: &ReadError, source: Source) -> Problem {
        let mut defect = text_defect(error);
        defect.pointer = defect.pointer.filter(|pointer| !pointer.is_empty());
        if error.kind() == ReadErrorKind::InexactInteger {
            defect.help = Some("with --round such numbers are read as the nearest ones".to_owned());
        }
        let message = format!("value {} of {} is no JSON that can be read", self.count, self.name);
        Problem::defects(Exit::Document, message, Some(source), vec![defect])
    }

    fn too_large(&self) -> Problem {
        let max = self.reader.options().bytes_max;
        let number = self.count.saturating_add(1);
        Problem::new(Exit::Document, format!("value {number} of {} is larger than {max} bytes", self.name))
    }

    fn skip_space(&mut self) {
        let rest = self.buffer.get(self.taken..).unwrap_or_default();
        let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.take(space);
    }

    /// Goes over the next bytes.
    fn take(&mut self, count: usize) {
        let end = self.taken.saturating_add(count);
        let bytes = self.buffer.get(self.taken..end).unwrap_or_default();
        let characters = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(feed) => {
                self.place.line += bytes.split(|byte| *byte == b'\n').count() - 1;
                self.place.column = characters(bytes.get(feed..).unwrap_or_default());
            }
            None => self.place.column += characters(bytes),
        }
        self.taken = end;
        self.passed = self.passed.saturating_add(count);
    }

    fn fill(&mut self) -> Result<(), Problem> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let held = self.buffer.len();
        self.buffer.resize(held.saturating_add(CHUNK), 0);
        let room = self.buffer.get_mut(held..).unwrap_or_default();
        let read = loop {
            match self.from.read(room) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let count = read.map_err(|error| Problem::unreadable(Path::new(&self.name), "file", &error))?;
        self.buffer.truncate(held.saturating_add(count));
        self.ended = count == 0;
        Ok(())
    }
}

/// How far the text of one value was looked at. It begins with no white space.
#[derive(Debug, Default)]
struct Frame {
    /// Bytes that were looked at.
    scanned: usize,
    /// The brackets that will close what is open.
    closers: Vec<u8>,
    in_string: bool,
    is_escaped: bool,
    /// Whether the last token ended a value, so that no other one may begin.
    after_value: bool,
}

impl Frame {
    /// Where the value ends whose first bytes these are, if that is known yet: behind its last byte, or behind one that
    /// shows it to be no value. The bytes are those of the last time and further ones.
    fn scan(&mut self, bytes: &[u8], depth_max: u32) -> Option<usize> {
        for (index, &byte) in bytes.iter().enumerate().skip(self.scanned) {
            self.scanned = index + 1;
            if self.in_string {
                if self.string_byte(byte) {
                    return Some(self.scanned);
                }
                continue;
            }
            let is_top = self.closers.is_empty();
            match byte {
                // On the top level only numbers and words come here: the others have ended already.
                b' ' | b'\t' | b'\n' | b'\r' if is_top => return Some(index),
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'"' | b'{' | b'[' | b'}' | b']' | b',' | b':' if is_top && index > 0 => return Some(index),
                b'"' | b'{' | b'[' if self.after_value => return Some(self.scanned),
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    // In ASCII the closing bracket comes two after the opening one.
                    self.closers.push(byte + 2);
                    if self.closers.len() > usize::try_from(depth_max).unwrap_or(usize::MAX) {
                        return Some(self.scanned);
                    }
                }
                b'}' | b']' => {
                    let fits = self.closers.pop() == Some(byte);
                    if !fits || self.closers.is_empty() {
                        return Some(self.scanned);
                    }
                    self.after_value = true;
                }
                b',' | b':' if is_top => return Some(self.scanned),
                b',' | b':' => self.after_value = false,
                _ => self.after_value = true,
            }
        }
        None
    }

    /// A byte within a string: whether the value ends here, for good or because no string has this byte.
    fn string_byte(&mut self, byte: u8) -> bool {
        if byte < 0x20 {
            return true;
        }
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            self.after_value = true;
            return self.closers.is_empty();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use jaren::json::value;

    use super::*;

    /// Hands out a text in pieces of this size.
    struct Pieces(Vec<u8>, usize);

    impl Read for Pieces {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(room.len());
            for (to, from) in room.iter_mut().zip(self.0.drain(..count)) {
                *to = from;
            }
            Ok(count)
        }
    }

    fn stream(text: &str, size: usize) -> Stream {
        let pieces = Pieces(text.as_bytes().to_vec(), size);
        Stream::new(Box::new(pieces), "x".to_owned(), ReadOptions::data())
    }

    /// All values with their numbers and lines; at last the text of the problem, if there is one.
    fn all(text: &str, size: usize) -> (Vec<(Value, u64, usize)>, Option<String>) {
        let mut stream = stream(text, size);
        let mut found = Vec::new();
        loop {
            match stream.next(|| {}) {
                Ok(None) => return (found, None),
                Ok(Some(input)) => found.push((input.value, input.number, input.line)),
                Err(problem) => return (found, Some(problem.render())),
            }
        }
    }

    #[test]
    fn values_come_whole_however_the_bytes_come() {
        let text = " 12\n{\"a\": [\"]}\\\"\", {}]}\n\n[]{}\"x\"true null\r\n-1.5e3[1,\n2] \"grün\" 7";
        let expected = vec![
            (value!(12), 1, 1),
            (value!({ "a": ["]}\"", {}] }), 2, 2),
            (value!([]), 3, 4),
            (value!({}), 4, 4),
            (value!("x"), 5, 4),
            (value!(true), 6, 4),
            (value!(null), 7, 4),
            (value!(-1500), 8, 5),
            (value!([1, 2]), 9, 5),
            (value!("grün"), 10, 6),
            (value!(7), 11, 6),
        ];
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(all(text, size), (expected.clone(), None), "pieces of {size}");
        }
        assert_eq!(all(" \n\t\r", 1), (Vec::new(), None));
    }

    #[test]
    fn a_mistake_is_told_in_its_place_and_before_more_is_read() {
        let endless = "\n{\"b\": 2}".repeat(100_000);
        for (text, place) in [
            ("1 {\"a\": 1", "x:2:1"),
            ("1 {\"a\": [1}", "x:1:11"),
            ("1 {\"a\": \"x", "x:1:11"),
            ("1 {\"a\" \"x\"}", "x:1:8"),
            ("1 ,", "x:1:3"),
            ("1 ]", "x:1:3"),
            ("1 :", "x:1:3"),
            ("1 \"ä\\q\"", "x:1:6"),
            ("1 \"ä\" nul", "x:1:10"),
        ] {
            let mut stream = stream(&format!("{text}{endless}"), 100);
            let mut reads = 0;
            let problem = loop {
                match stream.next(|| reads += 1) {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("no problem in {text}"),
                    Err(problem) => break problem.render(),
                }
            };
            assert!(problem.contains(place), "{text}: {problem}");
            assert!(reads < 3, "{text}");
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_ends() {
        let deep = "[".repeat(1 << 20);
        let mut endless = stream(&deep, 4096);
        let mut reads = 0;
        assert!(endless.next(|| reads += 1).unwrap_err().render().contains("512 deep"));
        assert_eq!(reads, 1);

        let options = ReadOptions { bytes_max: 1000, ..ReadOptions::data() };
        let long = Pieces(vec![b'1'; 1 << 20], 100);
        let mut long = Stream::new(Box::new(long), "x".to_owned(), options);
        assert!(long.next(|| {}).unwrap_err().render().contains("value 1 of x is larger than 1000 bytes"));
        assert!(long.buffer.len() <= 2000);

        let many = Pieces("[1] ".repeat(1000).into_bytes(), 100);
        let mut many = Stream::new(Box::new(many), "x".to_owned(), options);
        let slurped = many.slurp(&mut Vec::new(), &mut 0);
        assert!(slurped.unwrap_err().render().contains("together are larger than 1000 bytes"));
    }

    #[test]
    fn every_broken_text_ends() {
        let text = "{\"a\": [1, \"x\\n\", {\"b\": null}], \"c\": -1.5e3} [true, 2]";
        let mut bytes = text.as_bytes().to_vec();
        for at in 0..bytes.len() {
            let kept = bytes[at];
            for byte in [b'{', b'}', b'[', b']', b'"', b',', b':', b' ', b'\n', b'\\', b'0', b'n', 0, 0xff] {
                bytes[at] = byte;
                let mut stream =
                    Stream::new(Box::new(Pieces(bytes.clone(), 5)), "x".to_owned(), ReadOptions::data());
                while let Ok(Some(_)) = stream.next(|| {}) {}
            }
            bytes[at] = kept;
        }
    }
}
