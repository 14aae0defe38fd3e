//! The pattern of a search: whether it ignores case, and the alternatives of which a message can match several.

use std::convert::Infallible;

use regex::Regex;
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor, parse::Parser};

use crate::diagnostic::{Diagnostic, typed_pattern};

/// The most alternatives that are compared; of a longer list, each message is compared by the first ones.
const MOST_ALTERNATIVES: usize = 64;

/// A pattern as it was typed, and its alternatives.
#[derive(Debug)]
pub(crate) struct SearchPattern {
    pub(crate) whole: Regex,
    /// The alternatives of a pattern like `foo|bar`; none where it has only one.
    alternatives: Vec<Regex>,
}

impl SearchPattern {
    /// A typed pattern that ignores case if it has no capital letter, unless it tells case anyway.
    pub(crate) fn new(typed: Regex, is_case_sensitive: bool) -> Self {
        // It was parsed once already. What is nested too deeply for this parser is searched as it was typed.
        let Ok(ast) = Parser::new().parse(typed.as_str()) else {
            return SearchPattern { whole: typed, alternatives: Vec::new() };
        };
        let ignores_case = !is_case_sensitive && !has_capital(&ast);
        // A pattern can be too large if it ignores case.
        let whole = compile(typed.as_str(), ignores_case).unwrap_or_else(|_| typed.clone());
        let mut alternatives = Vec::new();
        for text in alternatives_of(&ast, typed.as_str()) {
            let Ok(alternative) = compile(&text, ignores_case) else {
                alternatives.clear();
                break;
            };
            alternatives.push(alternative);
        }
        SearchPattern { whole, alternatives }
    }

    /// Whether it has several alternatives.
    pub(crate) fn has_alternatives(&self) -> bool {
        !self.alternatives.is_empty()
    }

    /// How many of its alternatives a text matches; 0 where it has only one.
    pub(crate) fn matched_alternatives(&self, text: &str) -> usize {
        self.alternatives.iter().filter(|alternative| alternative.is_match(text)).count()
    }
}

/// Parses the pattern of a search.
pub(super) fn search_pattern(text: &str) -> Result<Regex, Diagnostic> {
    compile(text, false)
}

/// In the pattern of a search, `^` and `$` are the ends of a line, as in other programs that search.
fn compile(text: &str, ignores_case: bool) -> Result<Regex, Diagnostic> {
    typed_pattern(text, |builder| builder.multi_line(true).crlf(true).case_insensitive(ignores_case))
}

/// The texts of the alternatives of a pattern; none where it has only one.
fn alternatives_of(ast: &Ast, pattern: &str) -> Vec<String> {
    let mut whole = ast;
    while let Ast::Group(group) = whole
        && group.flags().is_none_or(|flags| flags.items.is_empty())
    {
        whole = &group.ast;
    }
    let Ast::Alternation(alternation) = whole else { return Vec::new() };
    // Flags such as `(?i)` hold for the later alternatives, too.
    let mut flags = String::new();
    let mut texts = Vec::new();
    for alternative in alternation.asts.iter().take(MOST_ALTERNATIVES) {
        let text = &pattern[alternative.span().start.offset..alternative.span().end.offset];
        // Behind `(?x)`, a comment can stand at the end of an alternative.
        let end = if flags.contains('x') { "\n" } else { "" };
        texts.push(format!("{flags}(?:{text}{end})"));
        let parts = match alternative {
            Ast::Concat(concat) => concat.asts.as_slice(),
            one => std::slice::from_ref(one),
        };
        for part in parts {
            if let Ast::Flags(set) = part {
                flags.push_str(&pattern[set.span.start.offset..set.span.end.offset]);
            }
        }
    }
    texts
}

/// Whether a pattern has a capital letter of its own, also where `\x{54}` spells it: the `S` of `\S` and the `Lu` of
/// `\p{Lu}` are none.
fn has_capital(ast: &Ast) -> bool {
    let Ok(found) = ast::visit(ast, CapitalFinder { found: false });
    found
}

struct CapitalFinder {
    found: bool,
}

impl Visitor for CapitalFinder {
    type Output = bool;
    type Err = Infallible;

    fn finish(self) -> Result<bool, Infallible> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
        if let Ast::Literal(literal) = ast {
            self.found |= literal.c.is_uppercase();
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        match item {
            ClassSetItem::Literal(literal) => self.found |= literal.c.is_uppercase(),
            ClassSetItem::Range(range) => {
                self.found |= range.start.c.is_uppercase() || range.end.c.is_uppercase();
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(pattern: &str) -> SearchPattern {
        SearchPattern::new(search_pattern(pattern).expect("a pattern"), false)
    }

    #[test]
    fn a_pattern_without_capitals_ignores_case() {
        for (pattern, text, matches) in [
            ("timeout", "TimeOut", true),
            ("Timeout", "timeout", false),
            (r"\S+é", "É", false),
            (r"\bé\S", "ÉX", true),
            (r"\p{Lu}\x{6A}", "aj", true),
            (r"\pL\x6A", "AJ", true),
            (r"\x{54}", "t", false),
            (r"\x54", "t", false),
            (r"\u0054", "t", false),
            (r"\U00000054", "t", false),
            (r"\u006A", "J", true),
            ("[a-z]x", "BX", true),
            ("[A-Z]x", "bx", false),
            (r"[^\D]x", "1X", true),
            ("[[:alpha:]]x", "aX", true),
            ("(?P<Name>x)", "X", true),
            (r"\\s", r"\S", true),
            (r"\\S", r"\s", false),
            ("^b$", "a\r\nB\r\n", true),
        ] {
            assert_eq!(typed(pattern).whole.is_match(text), matches, "{pattern} {text:?}");
        }
        let sensitive = SearchPattern::new(search_pattern("a|b").expect("a pattern"), true);
        assert_eq!((sensitive.whole.is_match("A"), sensitive.matched_alternatives("A b")), (false, 1));
    }

    #[test]
    fn alternatives_are_those_of_the_whole_pattern() {
        for (pattern, text, matched) in [
            ("foo|bar|baz", "baz bar foo", 3),
            ("foo|bar|baz", "foo foo", 1),
            ("(foo|bar)", "a bar and a foo", 2),
            ("(?:(foo|bar))", "a bar and a foo", 2),
            ("foo", "foo", 0),
            ("(foo|bar) x", "foo x bar x", 0),
            ("foo|(bar|baz)", "bar baz", 1),
            (r"a\|b", "a|b", 0),
            ("[a|b]", "a b", 0),
            ("FOO|bar", "FOO bar BAR", 2),
            ("FOO|bar", "FOO BAR", 1),
            ("(?i)foo|BAR", "Foo bar", 2),
            ("foo(?i)|BAR", "foo bar", 2),
            ("^foo$|^bar$", "foo\nbar", 2),
            ("(?x) foo # a comment\n | bar # (", "foo bar", 2),
            ("foo|", "foo", 2),
        ] {
            assert_eq!(typed(pattern).matched_alternatives(text), matched, "{pattern} {text:?}");
        }
    }
}
