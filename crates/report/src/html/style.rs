//! The look of the HTML report.

/// Self-contained: no fonts, images or scripts from elsewhere.
pub(super) const CSS: &str = "
:root { --ink: #1b1b1b; --soft: #595959; --line: #ddd; --good: #0b6b3a; --bad: #a3261b; --open: #7a5c00; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.9rem; margin-bottom: .2rem; }
h2 { font-size: 1.45rem; margin-top: 3rem; border-bottom: 2px solid var(--line); }
h3 { font-size: 1.2rem; margin-top: 2.6rem; }
h4 { font-size: 1rem; margin: 1.4rem 0 .2rem; }
p { max-width: 52rem; }
p.lead, .soft { color: var(--soft); }
a { color: #00538a; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.id { white-space: nowrap; font-weight: 600; }
tr.paper td { font-weight: 600; padding-top: .9rem; }
tr.all td { border-top: 2px solid var(--ink); font-weight: 600; }
.holds, .does-not-hold, .unclear { font-weight: 600; white-space: nowrap; }
.holds { color: var(--good); }
.does-not-hold { color: var(--bad); }
.unclear { color: var(--open); }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; }
figcaption { color: var(--soft); font-size: .92rem; }
code, pre { font-family: ui-monospace, monospace; font-size: .88rem; background: #f5f5f5; border-radius: 3px; }
code { padding: .1rem .3rem; }
pre { padding: .7rem; overflow-x: auto; }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--soft); }
.why { color: var(--soft); font-size: .9rem; max-width: 44rem; }
.warn { border-left: 4px solid var(--open); padding-left: .8rem; }
";
