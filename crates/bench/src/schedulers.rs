//! The simulator with our scheduler and with round robin, all else being profile `fast`, on the
//! paths of S0's figure 4.

use anyhow::{Result, ensure};
use polypath_run::world_spec;
use polypath_scenario::Source;

use crate::cpu;
use crate::simulator::Cost;

/// Delays of the second path (ms), and whether data may be delivered in any order.
pub(crate) const SETUPS: [(u32, bool); 6] =
    [(10, false), (10, true), (50, false), (50, true), (75, false), (75, true)];

/// One run of two minutes: packets and CPU time.
pub(crate) fn run(delay: u32, unordered: bool, scheduler: &str) -> Result<Cost> {
    let text = format!(
        "path.A = {{ rate = '10Mbit/s', delay = '10ms', queue = '100packets' }}
         path.B = {{ rate = '10Mbit/s', delay = '{delay}ms', queue = '100packets' }}
         [stack]
         profile = 'fast'
         path-scheduler = '{scheduler}'
         send-buffer = '256KiB'
         receive-buffer = '256KiB'
         [[flow]]
         app = 'saturated'
         unordered = {unordered}
         [time]
         measure = '120s'"
    );
    let spec = world_spec(&Source::new("bench", &text)?.parse_scenario()?, false)?;
    let (result, cpu) = cpu::measure_cpu(|| polypath_sim::run(&spec, 1, None))?;
    let result = result?;
    ensure!(result.flows.iter().all(|f| f.integrity.holds()), "data was damaged");
    Ok(Cost { packets: result.packets, cpu })
}
