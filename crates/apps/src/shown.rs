//! What a peer said, fit for people's terminals and logs: nothing in it moves the cursor, breaks
//! the line, hides, or turns the direction of writing.

/// The longest remark of a peer that is shown, characters.
const LONGEST: usize = 200;

/// Characters that are not seen, but change how others are seen, are escaped as Rust writes them:
/// `\n`, `\u{1b}`, `\u{202e}`.
pub fn escape_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            c if changes_others(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Like [`escape_text`], for bytes that need not be UTF-8, such as names of files; what is not is
/// replaced.
pub fn escape_bytes(bytes: &[u8]) -> String {
    escape_text(&String::from_utf8_lossy(bytes))
}

/// Like [`escape_text`], for what may be long: cut after 200 characters.
pub fn escape_remark(remark: &str) -> String {
    let mut chars = remark.chars();
    let short: String = chars.by_ref().take(LONGEST).collect();
    let more = if chars.next().is_some() { "..." } else { "" };
    escape_text(&short) + more
}

/// Controls (C0, DEL, C1), and what Unicode calls bidirectional controls, separators of lines and
/// paragraphs, annotations, tags, and invisible characters. Joiners (U+200C, U+200D) stay:
/// languages and emoji need them.
fn changes_others(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_controls_a_terminal() {
        assert_eq!(escape_text("a\x1b[2Jb\n\x7f\u{9b}1m"), "a\\u{1b}[2Jb\\n\\u{7f}\\u{9b}1m");
        assert_eq!(escape_bytes(b"a\xff\r"), "a\u{fffd}\\r");
        for c in (0..0x20).chain(0x7f..0xa0).filter_map(char::from_u32) {
            assert!(escape_text(&c.to_string()).chars().all(|c| c.is_ascii_graphic()), "{c:?}");
        }
    }

    #[test]
    fn nothing_turns_or_hides_what_is_written() {
        assert_eq!(escape_text("invoice\u{202e}fdp.exe"), "invoice\\u{202e}fdp.exe");
        for c in "\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{2066}\u{2069}\u{feff}\u{e0041}"
            .chars()
        {
            assert!(escape_text(&c.to_string()).is_ascii(), "{c:?}");
        }
    }

    #[test]
    fn languages_stay_as_they_are() {
        for name in ["Übung.txt", "日本語", "عربي", "می\u{200c}خواهم", "👩\u{200d}🚀", "a\\b \"c\""]
        {
            assert_eq!(escape_text(name), name);
        }
    }

    #[test]
    fn remarks_are_short() {
        assert_eq!(escape_remark(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(escape_remark(&"é".repeat(201)), "é".repeat(200) + "...");
    }
}
