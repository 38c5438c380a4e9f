//! The look of the HTML report, and what its tables do.

/// Self-contained: no fonts, images or scripts from elsewhere.
pub(super) const CSS: &str = include_str!("style.css");

/// Sorts and filters; the page is whole without it.
pub(super) const SCRIPT: &str = include_str!("script.js");
