//! The look of the HTML report.

/// Self-contained: no fonts, images or scripts from elsewhere.
pub(super) const CSS: &str = "
:root { --ink: #1b1b1b; --soft: #666; --line: #ddd; --good: #0b6b3a; --bad: #a3261b; --open: #7a5c00; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; }
h2 { font-size: 1.45rem; margin-top: 3rem; border-bottom: 2px solid var(--line); }
h3 { font-size: 1.15rem; margin-top: 2.2rem; }
p.lead, .soft { color: var(--soft); }
table { border-collapse: collapse; margin: .8rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.holds { color: var(--good); font-weight: 600; white-space: nowrap; }
.does-not-hold { color: var(--bad); font-weight: 600; white-space: nowrap; }
.unclear { color: var(--open); font-weight: 600; white-space: nowrap; }
figure { margin: 1rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .92rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .88rem; background: #f5f5f5; border-radius: 3px; }
code { padding: .1rem .3rem; }
pre { padding: .7rem; overflow-x: auto; }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--soft); }
.why { color: var(--soft); font-size: .9rem; }
@media print { details { display: none; } }
";
