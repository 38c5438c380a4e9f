//! An option of a policy, as the registry lists it.

/// An option that a policy understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionEntry {
    /// Its key.
    pub name: &'static str,
    /// Its value where the text gives none.
    pub default: &'static str,
    /// What is allowed: alternatives separated by `|`; one in angle brackets stands for many
    /// values.
    pub values: &'static str,
    /// What it decides, in one line.
    pub summary: &'static str,
}

impl OptionEntry {
    /// The values that can be listed.
    pub fn choices(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.values.split('|').filter(|value| !value.contains('<'))
    }
}
