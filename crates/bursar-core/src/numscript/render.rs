//! Errors and findings as a compiler prints them: the line, a caret, the reason and the remedy.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::error::Error;
use super::span::Span;

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

impl Error {
    /// The whole message. `path` names the program.
    pub fn render(&self, source: &str, path: &str) -> String {
        let headline = format!("{} ({})", self.kind, self.kind.name());
        render(Severity::Error, &headline, self.span, &self.kind.hint(), &Text { source, path })
    }
}

/// A program text and what to call it.
pub(super) struct Text<'a> {
    pub(super) source: &'a str,
    pub(super) path: &'a str,
}

pub(super) fn render(
    severity: Severity,
    headline: &str,
    span: Span,
    hint: &str,
    text: &Text<'_>,
) -> String {
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let range = span.range();
    let inside = range.end <= text.source.len()
        && text.source.is_char_boundary(range.start)
        && text.source.is_char_boundary(range.end);
    let range = if inside { range } else { 0..0 };
    let snippet = Snippet::source(text.source)
        .path(text.path)
        .annotation(AnnotationKind::Primary.span(range));
    let group = level.primary_title(headline).element(snippet).element(Level::HELP.message(hint));
    Renderer::plain().render(&[group])
}
