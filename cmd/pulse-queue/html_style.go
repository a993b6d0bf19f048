package main

// sheetStyle is the style sheet. Colours have a contrast of 4.5 and more for text, and of 3
// and more for bars (WCAG 2.2, 1.4.3 and 1.4.11), in light and in dark.
const sheetStyle = `
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --ink: #1e1d1a; --quiet: #5d5a53; --line: #d9d5cb; --well: #f1eee7;
  --allowed: #1f5673; --asked: #5f93b3; --refused: #77736a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #16181a; --ink: #e6e3dc; --quiet: #a9a59b; --line: #34373a; --well: #202326;
    --allowed: #9fd0ec; --asked: #4f86a6; --refused: #8f8b82;
  }
}
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); font: 100%/1.5 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
body { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; overflow-wrap: anywhere; }
h1, h2, .headline { font-family: "Iowan Old Style", "Palatino Linotype", "URW Palladio L", P052, Georgia, "Liberation Serif", serif; font-weight: 600; line-height: 1.25; }
h1 { margin: 0; font-size: 1rem; letter-spacing: .04em; color: var(--quiet); }
h2 { margin: 0 0 .5rem; font-size: 1.25rem; }
p { margin: 0 0 .5rem; }
.headline { margin: .25rem 0 .5rem; font-size: 1.75rem; }
.note { color: var(--quiet); font-size: .875rem; }
section { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); min-width: 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 28rem), 1fr)); column-gap: 2.5rem; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--quiet); font-size: .8125rem; font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 400; }
table + .note { margin-top: .5rem; }
td p:last-child { margin: 0; }
.n { text-align: right; white-space: nowrap; }
thead .n { white-space: normal; overflow-wrap: normal; }
code { font: .8125rem/1.5 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; user-select: all; }
.type { margin: 0 0 .5rem; }
.type code { display: block; padding: .3rem .6rem; background: var(--well); border-left: 2px solid var(--line); }
.tasks { margin: 1rem 0 .5rem; padding-left: 1.5rem; }
.tasks li { margin-bottom: .9rem; }
.tasks p { margin-bottom: .25rem; }
.theirs { padding-left: .6rem; border-left: 2px solid var(--asked); font-style: italic; }
dl { margin: .5rem 0; }
dt { font-weight: 600; }
dd { margin: 0 0 .9rem; }
figure { margin: 1rem 0 .5rem; }
svg { display: block; overflow: visible; }
.key { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 .75rem; padding: 0; list-style: none; font-size: .875rem; }
.key li { display: flex; align-items: center; gap: .4rem; }
.key svg { width: .8rem; height: .8rem; }
.most { margin: 0; border-bottom: 1px solid var(--line); color: var(--quiet); font-size: .8125rem; line-height: 1.2; }
.chart { width: 100%; height: 9rem; border-bottom: 1px solid var(--quiet); }
.axis { display: flex; justify-content: space-between; margin-top: .2rem; color: var(--quiet); font-size: .8125rem; }
.gauge { width: 100%; min-width: 3rem; height: .8rem; margin-top: .3rem; }
rect { vector-effect: non-scaling-stroke; stroke-width: 1px; }
rect.allowed { fill: var(--allowed); }
rect.asked { fill: var(--asked); }
rect.refused { fill: none; stroke: var(--refused); }
summary { cursor: pointer; font-size: .875rem; }
details table { margin-top: .5rem; }
footer { margin-top: 3rem; }
@media (max-width: 40rem) {
  body { padding-top: 1.5rem; }
  .headline { font-size: 1.375rem; }
  th, td { padding-right: .5rem; }
}
@media print {
  :root {
    color-scheme: light;
    --paper: #fff; --ink: #000; --quiet: #444; --line: #bbb; --well: #fff; --allowed: #222; --asked: #8a8a8a; --refused: #444;
  }
  body { max-width: none; padding: 0; font-size: 10pt; }
  li, tr, dd, figure { break-inside: avoid; }
  h2 { break-after: avoid; }
  rect { print-color-adjust: exact; }
  details { display: none; }
}
`
