//! What must not be left behind in a file: white space, marks of unfinished work, silenced tests, a missing
//! module documentation.

use super::Finding;
use super::files::SourceFile;
use super::scan::{is_word, whole};

/// In code, with what to do instead.
const CODE: [(&str, &str); 4] = [
    ("todo!", "finish it, or leave it out"),
    ("unimplemented!", "finish it, or leave it out"),
    ("dbg!", "remove it"),
    ("#[ignore]", "say why in `#[ignore = \"…\"]`, or run it"),
];

/// In comments, as whole words.
const COMMENTS: [&str; 3] = ["TODO", "FIXME", "XXX"];

pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(file.text.split('\n')) {
        if text.ends_with([' ', '\t', '\r']) {
            found.push(Finding::new(&file.path, line, "white space at the end of the line"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        found.push(Finding::new(&file.path, 0, "no line end at the end of the file"));
    }
    let Some(rust) = &file.rust else { return found };
    for (line, text) in (1..).zip(rust.code.lines()) {
        for (mark, instead) in CODE.iter().filter(|(mark, _)| holds(text, mark)) {
            found.push(Finding::new(&file.path, line, format!("`{mark}` left behind: {instead}")));
        }
    }
    for (line, text) in (1..).zip(rust.comments.lines()) {
        for mark in COMMENTS.iter().filter(|mark| holds(text, mark)) {
            let message = format!("`{mark}` left behind: do it, or say what is so and why");
            found.push(Finding::new(&file.path, line, message));
        }
    }
    if !documented(&file.text) {
        found.push(Finding::new(&file.path, 1, "no module documentation: begin with a line of `//!`"));
    }
    found
}

fn holds(line: &str, mark: &str) -> bool {
    whole(line, mark, is_word).next().is_some()
}

/// Whether module documentation stands before the first item; inner attributes may stand before it.
fn documented(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("#![") && !line.starts_with("#!/"))
        .is_none_or(|line| line.starts_with("//!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        check(&SourceFile::new("crates/a/src/b.rs", text)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clean_file_has_no_finding() {
        let text = "//! Words.\n\n/// Says `todo!` in words and \"dbg!\" too.\nfn todo() { let s = \"FIXME \
                    todo!()\"; mytodo!(); }\n#[ignore = \"needs a network\"]\nfn f() {}\n";
        assert_eq!(messages(text), Vec::<String>::new());
    }

    #[test]
    fn each_mark_is_found_where_it_stands() {
        for (mark, _) in CODE {
            let found = messages(&format!("//! Words.\n{mark}\n"));
            assert_eq!(found.len(), 1, "{mark}: {found:?}");
            assert!(found[0].starts_with("crates/a/src/b.rs:2: "), "{found:?}");
        }
        for mark in COMMENTS {
            assert_eq!(messages(&format!("//! Words.\n// {mark}: later\n")).len(), 1, "{mark}");
        }
    }

    #[test]
    fn missing_documentation_white_space_and_line_end_are_found() {
        assert!(messages("use a::b;\n")[0].contains("no module documentation"));
        assert!(messages("//! Words. \n")[0].contains("white space at the end"));
        assert!(messages("//! Words.")[0].contains("no line end"));
        assert_eq!(messages("#![forbid(unsafe_code)]\n//! Words.\n"), Vec::<String>::new());
    }
}
