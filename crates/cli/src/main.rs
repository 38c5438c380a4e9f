//! The polypath command.
fn main() {}
