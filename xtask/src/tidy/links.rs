//! Links between Markdown files: the file must exist inside the repository, and the heading in it.

use std::path::{Component, Path, PathBuf};

use super::Finding;
use super::files::SourceFile;

pub(super) fn check(root: &Path, sources: &[SourceFile]) -> Vec<Finding> {
    let pages = sources.iter().filter(|file| file.is_markdown());
    pages.flat_map(|page| check_page(page, sources, &|path| root.join(path).exists())).collect()
}

fn check_page(page: &SourceFile, sources: &[SourceFile], exists: &dyn Fn(&Path) -> bool) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, target) in links(&page.text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let Some(path) = resolve(&page.path, file) else {
            found.push(Finding::new(&page.path, line, format!("the link `{target}` leaves the repository")));
            continue;
        };
        if !exists(&path) {
            found.push(Finding::new(&page.path, line, format!("the link `{target}` leads nowhere")));
            continue;
        }
        let linked = sources.iter().find(|other| Path::new(&other.path) == path);
        let missing = |other: &SourceFile| !headings(&other.text).any(|found| found == heading);
        if !heading.is_empty() && linked.is_some_and(missing) {
            found.push(Finding::new(&page.path, line, format!("the link `{target}` names no heading there")));
        }
    }
    found
}

/// The path that a link means, from the repository's root; none when it leads out of it.
fn resolve(page: &str, file: &str) -> Option<PathBuf> {
    if file.is_empty() {
        return Some(PathBuf::from(page));
    }
    let mut path = Path::new(page).parent().map(Path::to_path_buf).unwrap_or_default();
    for part in Path::new(file).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// The lines of a page outside of its fences, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// The targets of inline links, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        // What stands between backticks is code: every second piece.
        for piece in line.split('`').step_by(2) {
            let targets = piece.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            found.extend(targets.map(|target| (number, target)));
        }
    }
    found
}

/// The anchors of a page's headings, as the usual renderers make them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let page = SourceFile::new("docs/a.md", text);
        let sources = [SourceFile::new("docs/b.md", "# One `two`: three\n```\n# no heading\n```\n")];
        let exists = |path: &Path| path == Path::new("docs/b.md") || path == Path::new("README.md");
        check_page(&page, &sources, &exists).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_are_left_alone() {
        let text = "[x](b.md) [`y`](../README.md) ![z](https://example.org/q) [w](b.md#one-two-three)\n\
                    ```\n[v](gone.md)\n```\n`[u](gone.md)`\n";
        assert_eq!(messages(text), Vec::<String>::new());
    }

    #[test]
    fn broken_links_are_found() {
        assert_eq!(messages("\n[x](gone.md)"), ["docs/a.md:2: the link `gone.md` leads nowhere"]);
        assert_eq!(messages("[`x`](gone.md)"), ["docs/a.md:1: the link `gone.md` leads nowhere"]);
        assert!(messages("[x](../../b.md)")[0].contains("leaves the repository"));
        assert!(messages("[x](b.md#no-heading)")[0].contains("names no heading"));
    }
}
