//! Results as tests see them: metrics by grid, point and seed.

use crate::experiment::{Axis, Grid, MAIN};

/// The results of an experiment's grids.
pub trait Results {
    /// Shape of a grid.
    fn grid(&self, name: &str) -> Option<&GridTable>;

    /// Names of all grids.
    fn grid_names(&self) -> Vec<&str>;

    /// A metric at a point of a grid, one value per seed.
    fn sample(&self, grid: &GridTable, point: usize, metric: &str) -> Sample;
}

/// What is known of a metric at a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// One value per seed.
    Values(Vec<f64>),
    /// The metric does not exist here.
    Unknown,
    /// So many of so many runs have no such figure.
    Missing(usize, usize),
}

/// Axes and points of a grid.
#[derive(Clone, Debug)]
pub struct GridTable {
    /// Its name.
    pub name: String,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// Labels of each point.
    pub points: Vec<Vec<String>>,
}

impl GridTable {
    /// The shape of a grid.
    pub fn from_grid(grid: &Grid) -> Self {
        Self {
            name: grid.name.clone(),
            axes: grid.axes.clone(),
            points: grid.points.iter().map(|point| point.labels.clone()).collect(),
        }
    }

    /// Labels of an axis.
    pub fn axis_labels(&self, axis: &str) -> Option<&[String]> {
        let found = self.axes.iter().find(|known| known.name == axis);
        found.map(|axis| axis.labels.as_slice())
    }

    /// How the grid is called in messages.
    pub fn display_name(&self) -> String {
        if self.name == MAIN { "the main grid".into() } else { format!("grid {:?}", self.name) }
    }
}
