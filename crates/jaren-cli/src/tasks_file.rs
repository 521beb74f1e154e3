//! `tasks.toml`: which command stands behind each task name of a document.
//!
//! The file is read by hand over the parser's spanned tree, so that every defect is found in one go and shown in place.

mod retry;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jaren::engine::RetryPolicy;
use jaren::flow::TaskMap;
use jaren::json::Digest;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::exit::Exit;
use crate::problem::{Defect, Problem, Source};

/// Bytes of a tasks file that are read at most.
const FILE_BYTES_MAX: usize = 1 << 20;
/// The time limit of a command that names none.
const TIMEOUT_DEFAULT: Duration = Duration::from_mins(10);
/// The longest time limit that can be asked for.
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_hours(30 * 24);
/// How long a command may clean up between TERM and KILL when it names nothing else.
const GRACE_DEFAULT: Duration = Duration::from_secs(5);
/// The longest grace that can be asked for.
const GRACE_MAX: Duration = Duration::from_mins(5);
/// Bytes of standard output that a command may print when it names no limit.
const OUTPUT_DEFAULT: usize = 16 << 20;
/// The largest output limit that can be asked for.
const OUTPUT_MAX: usize = 256 << 20;

/// A tasks file, read and checked.
#[derive(Debug)]
pub(crate) struct TasksFile {
    /// Where it stands, absolute.
    pub(crate) path: PathBuf,
    /// Its bytes, by which a change since a run began is noticed.
    pub(crate) bytes: Vec<u8>,
    /// The bindings by the task's name and version.
    pub(crate) bindings: TaskMap<Binding>,
}

impl TasksFile {
    /// The SHA-256 of the file.
    pub(crate) fn digest(&self) -> String {
        Digest::of(&self.bytes).to_string()
    }
}

/// The bindings of the file; none without one.
pub(crate) fn bindings(file: Option<&TasksFile>) -> &TaskMap<Binding> {
    const NONE: &TaskMap<Binding> = &TaskMap::new();
    file.map_or(NONE, |file| &file.bindings)
}

/// The command behind one version of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The implementation's version, which the document must name too.
    pub(crate) version: String,
    /// The program and its arguments; never empty.
    pub(crate) exec: Vec<String>,
    /// The folder it runs in, absolute where the tasks file's path is.
    pub(crate) dir: PathBuf,
    /// Names of environment variables that it may see beside the usual ones.
    pub(crate) env: Vec<String>,
    /// How long it may run.
    pub(crate) timeout: Duration,
    /// How long it may clean up between TERM and KILL.
    pub(crate) grace: Duration,
    /// Bytes that it may print on standard output.
    pub(crate) output_bytes_max: usize,
    /// When it is executed again after a failure; none for not at all.
    pub(crate) retry: Option<RetryPolicy>,
}

/// Reads a tasks file.
pub(crate) fn read(path: &Path) -> Result<TasksFile, Problem> {
    let bytes = crate::input::read_file(path, "tasks file", FILE_BYTES_MAX)?;
    let absolute =
        std::path::absolute(path).map_err(|error| Problem::unreadable(path, "tasks file", &error))?;
    let folder = absolute.parent().unwrap_or(&absolute);
    match parse(&bytes, folder) {
        Ok(bindings) => Ok(TasksFile { path: absolute, bytes, bindings }),
        Err(mut defects) => {
            defects.sort_by_key(|defect| defect.span.as_ref().map(|span| span.start));
            let source = Source::new(path, bytes);
            let message = format!("{} is no tasks file that can be used", path.display());
            Err(Problem::defects(Exit::Document, message, Some(source), defects))
        }
    }
}

fn parse(bytes: &[u8], folder: &Path) -> Result<TaskMap<Binding>, Vec<Defect>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        vec![defect(at..at + 1, "the text is not UTF-8", "save the file as UTF-8")]
    })?;
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors.iter().map(syntax_defect).collect());
    }
    let mut reader = Reader { folder, defects: Vec::new() };
    let bindings = reader.file(&root);
    if reader.defects.is_empty() { Ok(bindings) } else { Err(reader.defects) }
}

fn syntax_defect(error: &toml::de::Error) -> Defect {
    Defect { message: error.message().to_owned(), span: error.span(), ..Defect::default() }
}

fn defect(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Defect {
    Defect { message: message.into(), help: Some(help.into()), span: Some(span), ..Defect::default() }
}

/// Walks the tree and collects what is wrong.
struct Reader<'a> {
    folder: &'a Path,
    defects: Vec<Defect>,
}

impl Reader<'_> {
    fn refuse(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.defects.push(defect(span, message, help));
    }

    fn file(&mut self, root: &Spanned<DeTable<'_>>) -> TaskMap<Binding> {
        let mut bindings = TaskMap::new();
        for (key, value) in root.get_ref() {
            let name = key.get_ref();
            if name != "tasks" {
                self.refuse(
                    key.span(),
                    format!("unknown member {name:?}"),
                    "the file holds [tasks.NAME] tables only",
                );
                continue;
            }
            let Some(tasks) = self.table(value, "tasks") else { continue };
            for (key, value) in tasks {
                let name = key.get_ref();
                if name.trim().is_empty() {
                    self.refuse(key.span(), "a task's name is blank", "name it as the document does");
                }
                for (key, table) in self.versions(key, value) {
                    let Some(binding) = self.binding(&key, table) else { continue };
                    let version = binding.version.clone();
                    if !bindings.insert(name, Some(&version), binding) {
                        let message = format!("the task has version {version:?} twice");
                        self.refuse(key, message, "bind each version of a task once");
                    }
                }
            }
        }
        bindings
    }

    /// The tables of one task: one, or a list of them where several versions stand side by side.
    fn versions<'v, 'i>(
        &mut self,
        key: &Spanned<DeString<'_>>,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Vec<(Range<usize>, &'v DeTable<'i>)> {
        let Some(items) = value.get_ref().as_array() else {
            return self.table(value, key.get_ref()).map(|table| (key.span(), table)).into_iter().collect();
        };
        items.iter().filter_map(|item| Some((item.span(), self.table(item, key.get_ref())?))).collect()
    }

    fn binding(&mut self, key: &Range<usize>, table: &DeTable<'_>) -> Option<Binding> {
        let mut version = None;
        let mut exec = None;
        let mut binding = Binding {
            version: String::new(),
            exec: Vec::new(),
            dir: self.folder.to_owned(),
            env: Vec::new(),
            timeout: TIMEOUT_DEFAULT,
            grace: GRACE_DEFAULT,
            output_bytes_max: OUTPUT_DEFAULT,
            retry: None,
        };
        for (member, value) in table {
            match member.get_ref().as_ref() {
                "version" => version = Some(self.version(value)),
                "exec" => exec = Some(self.exec(value)),
                "dir" => binding.dir = self.folder.join(self.string(value, "dir").unwrap_or_default()),
                "env" => binding.env = self.env(value),
                "timeout" => binding.timeout = self.duration(value, "timeout", TIMEOUT_MAX),
                "grace" => binding.grace = self.duration(value, "grace", GRACE_MAX),
                "output" => binding.output_bytes_max = self.size(value),
                "retry" => binding.retry = self.retry(value),
                other => self.refuse(
                    member.span(),
                    format!("unknown member {other:?}"),
                    "a task has version, exec, dir, env, timeout, grace, output and retry",
                ),
            }
        }
        if version.is_none() {
            self.refuse(
                key.clone(),
                "the task has no version",
                "add version = \"1\", as the document names it",
            );
        }
        if exec.is_none() {
            self.refuse(key.clone(), "the task has no exec", "add exec = [\"program\", \"argument\", …]");
        }
        Some(Binding { version: version??, exec: exec??, ..binding })
    }

    fn version(&mut self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        let text = self.string(value, "version")?;
        if text.trim().is_empty() {
            self.refuse(value.span(), "the version is blank", "name the implementation, for example \"1\"");
            return None;
        }
        Some(text)
    }

    fn exec(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
        let words = self.strings(value, "exec")?;
        let usable = words.first().is_some_and(|program| !program.is_empty())
            && !words.iter().any(|word| word.contains('\0'));
        if !usable {
            let help = "write the program first: exec = [\"python3\", \"tasks/report.py\"]";
            self.refuse(value.span(), "exec names no program that can be started", help);
            return None;
        }
        Some(words)
    }

    fn env(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let names = self.strings(value, "env").unwrap_or_default();
        if names.iter().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
            self.refuse(
                value.span(),
                "env holds what cannot be a variable's name",
                "list names only, without values",
            );
        }
        names
    }

    fn table<'v, 'i>(&mut self, value: &'v Spanned<DeValue<'i>>, name: &str) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            let found = value.get_ref().type_str();
            self.refuse(
                value.span(),
                format!("{name:?} is not a table but {found}"),
                "write [tasks.NAME] tables, or [[tasks.NAME]] for each version of a task",
            );
        }
        table
    }

    fn string(&mut self, value: &Spanned<DeValue<'_>>, member: &str) -> Option<String> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            let found = value.get_ref().type_str();
            self.refuse(value.span(), format!("{member} is not a string but {found}"), "put it in quotes");
        }
        text.map(str::to_owned)
    }

    fn strings(&mut self, value: &Spanned<DeValue<'_>>, member: &str) -> Option<Vec<String>> {
        let words = value.get_ref().as_array().and_then(all_strings);
        if words.is_none() {
            self.refuse(
                value.span(),
                format!("{member} is not a list of strings"),
                format!("write {member} = [\"…\", \"…\"]"),
            );
        }
        words
    }

    fn duration(&mut self, value: &Spanned<DeValue<'_>>, member: &str, most: Duration) -> Duration {
        let found = value.get_ref().as_str().and_then(parse_duration).filter(|d| !d.is_zero() && *d <= most);
        if found.is_none() {
            let help = format!(
                "write a whole number and ms, s, m, h or d, for example \"30s\", at most {} s",
                most.as_secs()
            );
            self.refuse(value.span(), format!("{member} is no duration that can be kept"), help);
        }
        found.unwrap_or_default()
    }

    fn size(&mut self, value: &Spanned<DeValue<'_>>) -> usize {
        let found =
            value.get_ref().as_str().and_then(parse_size).filter(|bytes| (1..=OUTPUT_MAX).contains(bytes));
        if found.is_none() {
            let help = "write a whole number and B, KiB or MiB, for example \"16MiB\", at most 256 MiB";
            self.refuse(value.span(), "output is no size that can be kept", help);
        }
        found.unwrap_or_default()
    }
}

fn all_strings(array: &DeArray<'_>) -> Option<Vec<String>> {
    array.iter().map(|word| word.get_ref().as_str().map(str::to_owned)).collect()
}

/// A whole number and its unit.
fn number_and_unit(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start()))
}

fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(text)?;
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit_ms).map(Duration::from_millis)
}

fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = number_and_unit(text)?;
    let unit_bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(unit_bytes).and_then(|bytes| usize::try_from(bytes).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defects(text: &str) -> Vec<(usize, String)> {
        let mut found = parse(text.as_bytes(), Path::new("/here")).unwrap_err();
        found.sort_by_key(|defect| defect.span.clone().map(|span| span.start));
        let line = |at: usize| text.get(..at).unwrap_or_default().lines().count().max(1);
        found
            .into_iter()
            .map(|defect| (line(defect.span.map_or(0, |span| span.end)), defect.message))
            .collect()
    }

    #[test]
    fn a_full_binding_is_read() {
        let text = r#"
            [tasks.charge]
            version = "billing/3"
            exec = ["python3", "charge.py"]
            dir = "tasks"
            env = ["API_TOKEN"]
            timeout = "90s"
            grace = "250 ms"
            output = "64KiB"
            retry = { attempts = 3, first = "1s", codes = ["command-timeout"] }
            [tasks."odd name"]
            version = "1"
            exec = ["true"]
        "#;
        let bindings = parse(text.as_bytes(), Path::new("/here")).unwrap();
        let charge = bindings.get("charge", Some("billing/3")).unwrap();
        assert_eq!(charge.dir, Path::new("/here/tasks"));
        assert_eq!(charge.timeout, Duration::from_secs(90));
        assert_eq!(charge.grace, Duration::from_millis(250));
        let retry = RetryPolicy::times(2).with_backoff(Duration::from_secs(1), Duration::from_secs(8));
        assert_eq!(charge.retry, Some(retry.only_codes(["command-timeout"])));
        assert_eq!(charge.output_bytes_max, 65_536);
        let odd = bindings.get("odd name", Some("1")).unwrap();
        assert_eq!((odd.timeout, &*odd.dir), (TIMEOUT_DEFAULT, Path::new("/here")));
    }

    #[test]
    fn versions_of_a_task_stand_side_by_side() {
        let text =
            "[[tasks.a]]\nversion = \"1\"\nexec = [\"old\"]\n[[tasks.a]]\nversion = \"2\"\nexec = [\"new\"]";
        let bindings = parse(text.as_bytes(), Path::new("/here")).unwrap();
        assert_eq!(bindings.get("a", Some("1")).unwrap().exec, ["old"]);
        assert_eq!(bindings.get("a", Some("2")).unwrap().exec, ["new"]);

        let twice = text.replace("\"2\"", "\"1\"");
        assert_eq!(defects(&twice), [(4, "the task has version \"1\" twice".to_owned())]);
        assert_eq!(defects("tasks.a = [3]").len(), 1);
    }

    #[test]
    fn every_defect_is_found_in_place() {
        let text = "colour = 1\n\
                    [tasks.a]\n\
                    version = 1\n\
                    exec = []\n\
                    timeout = \"soon\"\n\
                    [tasks.b]\n\
                    exec = [\"x\", 2]\n\
                    shell = true\n\
                    env = [\"A=B\"]\n\
                    output = \"1GiB\"\n\
                    retry = { attempts = 1, often = true }\n\
                    [tasks.c]\n\
                    version = \"1\"\n\
                    exec = [\"x\"]\n\
                    retry = { first = \"2s\", most = \"1s\", codes = [] }\n\
                    [tasks.d]\n\
                    version = \"1\"\n\
                    exec = [\"x\"]\n\
                    retry = 3\n";
        let found = defects(text);
        let lines: Vec<usize> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 15, 15, 15, 19], "{found:?}");
    }

    #[test]
    fn broken_text_is_an_error_with_a_place() {
        assert!(!defects("[tasks.a\nversion = \n").is_empty());
        assert_eq!(defects("tasks = 3").len(), 1);
        assert_eq!(parse(b"a = \"\xff\"", Path::new("/")).unwrap_err()[0].span, Some(5..6));
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        assert!(!defects(&format!("a = {}", "[".repeat(100_000))).is_empty());
    }

    #[test]
    fn a_number_without_a_unit_or_beyond_the_range_is_refused() {
        for text in ["5", "", "s", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615d"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(parse_size("18446744073709551615MiB"), None);
    }
}
