//! The parts of a draw, each from random streams of its own.

pub(crate) mod cellular;
pub(crate) mod change;
pub(crate) mod cross;
pub(crate) mod disturb;
pub(crate) mod length;
pub(crate) mod network;
pub(crate) mod receiver;
pub(crate) mod topology;
pub(crate) mod traffic;
