//! Every change of state by samples made by hand: no link, no engine. The draft's own list of test
//! cases ("BBR Example Test Cases") is covered as far as it is about the model.

mod beyond;
mod control;
mod fake_path;
mod losses;
mod probe_bw;
mod probe_limit;
mod probe_rtt;
mod recovery;
mod startup;
