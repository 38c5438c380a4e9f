//! What became of the matrix.

use super::case::Case;
use super::facts::Facts;
use crate::peer::Role;

/// What became of the matrix.
#[derive(Debug)]
pub struct Matrix {
    /// One per case.
    pub rows: Vec<Row>,
    /// What was not done, and why.
    pub skipped: Vec<String>,
}

/// What became of a case.
#[derive(Debug)]
pub struct Row {
    /// Which.
    pub case: &'static Case,
    /// Our client and usrsctp's server, then the other way round.
    pub cells: [Cell; 2],
}

/// What became of a conversation.
#[derive(Debug)]
pub enum Cell {
    /// All was as it should be.
    Passed(Box<Facts>),
    /// Something was not.
    Failed(String),
    /// It was not held.
    Skipped,
    /// Usrsctp cannot play this role.
    NotPossible,
}

impl Cell {
    /// Whether it was held and something was wrong.
    pub const fn failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl Matrix {
    /// What went wrong, one line each.
    pub fn failures(&self) -> Vec<String> {
        let mut failures = Vec::new();
        for row in &self.rows {
            for (ours, cell) in ROLES.into_iter().zip(&row.cells) {
                if let Cell::Failed(why) = cell {
                    failures.push(format!("{}, our {}: {why}", row.case.name, ours.name()));
                }
            }
        }
        failures
    }
}

/// Our role in the two cells of a row.
pub const ROLES: [Role; 2] = [Role::Client, Role::Server];
