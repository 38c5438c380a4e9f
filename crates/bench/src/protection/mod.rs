//! What protection costs, as ratios of one run: of each packet, beside the cipher alone, and of
//! setting up, beside the handshakes of rustls alone.

mod cipher;
mod handshake;
mod packets;
mod setups;

use anyhow::Result;
use packets::{Ends, Times};
use polypath_secure::Suite;

/// Packets that a measurement of a round takes.
const PACKETS: usize = 8192;

/// Rounds of an instance: a round takes tens of milliseconds, and other load comes and goes.
const ROUNDS: u32 = 20;

/// Instances for each of `--repeat`. What one takes depends on where in memory it lies, by as much
/// as a half: the median of several tells.
const INSTANCES: u32 = 5;

/// Prints both tables.
pub(crate) fn tables(repeat: u32) -> Result<()> {
    let instances = INSTANCES * repeat.max(1);
    println!(
        "| cipher, {}-byte packets | end | plain, ns | protected, ns | added, ns | the cipher alone, \
         ns | added / alone | aim | the mask of the number, ns | protected / plain |",
        packets::CHUNKS
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for suite in [Suite::Aes128Gcm, Suite::ChaCha20Poly1305] {
        packet_rows(suite, instances)?;
    }
    println!("\n| 1,000 of | CPU, us each | ratio | aim |");
    println!("|---|---|---|---|");
    let [setup, handshake] = setups::cost(repeat)?;
    println!("| handshakes by rustls in memory, both ends | {handshake:.0} | | |");
    println!(
        "| set-ups of a protected association, both ends | {setup:.0} | {:.2} | 1.5 |",
        setup / handshake
    );
    Ok(())
}

/// Two ends in plain, two that are protected, and a cipher.
struct Instance {
    plain: Ends,
    protected: Ends,
    alone: cipher::Cipher,
}

impl Instance {
    fn new(suite: Suite) -> Result<Self> {
        let (plain, protected) = (Ends::new(None)?, Ends::new(Some(suite))?);
        Ok(Self { plain, protected, alone: cipher::Cipher::new(suite, packets::CHUNKS)? })
    }

    /// What each takes. Other load slows down; but on a machine that others share the least of all
    /// rounds may be one that was counted too low.
    fn measure(&mut self) -> Result<[Times; 3]> {
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            // In turn, so that other load hits all alike.
            times[0].push(self.plain.carry(PACKETS)?);
            times[1].push(self.protected.carry(PACKETS)?);
            times[2].push(self.alone.work(PACKETS)?);
        }
        Ok(times.map(|rounds| Times::quantile(&rounds, 10)))
    }
}

fn packet_rows(suite: Suite, instances: u32) -> Result<()> {
    let (mut kept, mut medians) = (Vec::new(), [const { Vec::new() }; 3]);
    for _ in 0..instances {
        let mut instance = Instance::new(suite)?;
        for (all, times) in medians.iter_mut().zip(instance.measure()?) {
            all.push(times);
        }
        // The next one lies elsewhere.
        kept.push(instance);
    }
    let [plain, protected, alone] = medians.map(|all| Times::quantile(&all, 2));
    // Of the cipher alone, `all` is that.
    let mask = alone.all;
    let row = |end, of: fn(&Times) -> f64| {
        let (plain, protected, alone) = (of(&plain), of(&protected), of(&alone));
        let (added, factor) = (protected - plain, protected / plain);
        println!(
            "| {suite:?} | {end} | {plain:.0} | {protected:.0} | {added:.0} | {alone:.0} | {:.2} | \
             1.25 | {mask:.0} | {factor:.2} |",
            added / alone,
        );
    };
    row("sends", |times| times.send);
    row("receives", |times| times.receive);
    println!(
        "| {suite:?} | both, with acknowledgements | {:.0} | {:.0} | {:.0} | | | | | {:.2} |",
        plain.all,
        protected.all,
        protected.all - plain.all,
        protected.all / plain.all
    );
    Ok(())
}
