//! A scenario to start from, with every common setting explained.

/// Its text. It runs as it is.
pub const SCENARIO: &str = include_str!("example.toml");

#[cfg(test)]
mod tests {
    use crate::source::Source;

    #[test]
    fn the_example_is_valid_and_so_is_every_line_that_it_suggests() {
        let source = Source::new("example.toml", super::SCENARIO).unwrap();
        source.parse_scenario().unwrap_or_else(|error| panic!("{error}"));
        let line = |line: &str| line.strip_prefix("#: ").unwrap_or(line).to_owned() + "\n";
        let all: String = super::SCENARIO.lines().map(line).collect();
        let source = Source::new("all.toml", all).unwrap_or_else(|error| panic!("{error}"));
        source.parse_scenario().unwrap_or_else(|error| panic!("{error}"));
    }
}
