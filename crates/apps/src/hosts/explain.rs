//! What is wrong with a file of hosts, in words of users.

use polypath_policies::did_you_mean;

/// Of a field or a value so many characters are shown.
pub(super) const SHOWN: usize = 60;

/// Of words that others chose so many characters are shown.
const LONGEST: usize = 300;

/// What a field may have.
pub(super) fn allowed(field: &str) -> &'static str {
    match field {
        "to" => "addresses and names, commas between, with :PORT if not 9899; IPv6: [ADDRESS]:PORT",
        "port" => "a whole number from 1 to 65535",
        "peer" => "a text, pp: and 52 characters, as `polypath id` prints it there",
        "paths" => "a list of network devices, such as [\"eth0\", \"wwan0\"], or [\"auto\"]",
        "local" => "a list of addresses of this host, such as [\"192.0.2.7\"]",
        "mesh" => "true or false",
        "forward" => "a list of -L, -R and -D with their values, such as [\"-D 1080\"]",
        _ => "tables [host.NAME]; a NAME with dots as [host.\"NAME\"]",
    }
}

/// What is no TOML, with the line that is none.
pub(super) fn explain_syntax(text: &str, error: &toml::de::Error) -> String {
    let line = text.lines().nth(line_of(text, error).saturating_sub(1)).unwrap_or_default();
    let message = error.message().replace('\n', ", ");
    format!("{:?}: {}", short(line.trim(), SHOWN), short(&message, LONGEST))
}

/// What serde refused or missed, in our words. What the file says is cut: it may be long.
pub(super) fn explain(text: &str, field: &str, error: &toml::de::Error) -> String {
    let message = error.message();
    let at = short(field, SHOWN);
    if message.starts_with("unknown field") {
        format!("{at}: unknown field{}", suggest_names(field, message))
    } else if message.starts_with("missing field") {
        let missing = message.split('`').nth(1).unwrap_or_default();
        format!("{at}.{missing}: missing (allowed: {})", allowed(missing))
    } else if message.starts_with("invalid ") {
        let name = field.split('[').next().and_then(|field| field.rsplit('.').next());
        let value = error.span().and_then(|span| text.get(span)).unwrap_or_default();
        let value = short(value.lines().next().unwrap_or_default(), SHOWN);
        format!("{at} = {value}: wrong (allowed: {})", allowed(name.unwrap_or_default()))
    } else {
        // Ours, which begins with the value.
        format!("{at} {}", short(message, LONGEST))
    }
}

/// "; did you mean X? (allowed: X, Y, Z)", of what serde knows. The field may be called anything,
/// so only what is behind its name counts.
fn suggest_names(field: &str, message: &str) -> String {
    let known = message.rsplit_once(", expected ").map_or("", |(_, known)| known);
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    let given = short(field.rsplit('.').next().unwrap_or_default(), SHOWN);
    let hint = did_you_mean(&given, known.iter().copied());
    format!("{hint} (allowed: {})", known.join(", "))
}

/// So many characters at most, and then dots.
pub(super) fn short(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The line of an error, from 1.
pub(super) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let offset = error.span().map_or(0, |span| span.start);
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
