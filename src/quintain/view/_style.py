"""The look of the report: one style sheet, system fonts, light and dark, phone and print."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --page: #faf9f6; --card: #ffffff; --ink: #1d2327; --muted: #667079; --line: #e4e2dc;
  --grid: #ebe9e4; --blue: #2a5bc7; --amber: #b0700f; --green: #1f7a52; --red: #b5402f;
  --grey: #99a1a8; --code: #f3f1ec;
}
@media (prefers-color-scheme: dark) { :root {
  --page: #15181a; --card: #1c2023; --ink: #e5e8ea; --muted: #98a2aa; --line: #2e3438;
  --grid: #2a3034; --blue: #86aaff; --amber: #dfa64f; --green: #6cc79b; --red: #f0907f;
  --grey: #6f7981; --code: #22272a;
} }
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%;
}
main { max-width: 1040px; margin: 0 auto; padding: 56px 24px 96px; }
header { margin-bottom: 40px; }
.over { color: var(--muted); font-size: 14px; letter-spacing: .02em; margin: 0 0 6px; }
h1 { font-size: 32px; line-height: 1.2; letter-spacing: -.015em; margin: 0 0 14px;
     font-weight: 650; overflow-wrap: anywhere; }
h2 { font-size: 21px; letter-spacing: -.01em; margin: 64px 0 6px; font-weight: 640; }
h3 { font-size: 15px; margin: 0 0 2px; font-weight: 620; }
p { margin: 0 0 12px; max-width: 70ch; }
.lead { font-size: 19px; line-height: 1.5; margin: 0 0 14px; max-width: 62ch; }
.lead b { font-weight: 650; }
.note { color: var(--muted); font-size: 14.5px; line-height: 1.5; }
.scope { margin: 14px 0 0; }
.good { color: var(--green); } .bad { color: var(--red); }
.grid { display: grid; gap: 20px; grid-template-columns: repeat(auto-fit, minmax(300px, 1fr)); }
.grid.small { grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); }
.grid > *, .wide { min-width: 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
        padding: 20px 22px; margin: 0; }
.card .note { margin: 0 0 10px; font-size: 13.5px; }
figure.card { display: flex; flex-direction: column; } figure svg.chart { margin-top: auto; }
.figure { font-size: 34px; line-height: 1.25; letter-spacing: -.02em; font-weight: 620;
          margin: 4px 0 2px; max-width: none; }
.figure .from { color: var(--muted); font-weight: 450; }
.figure .arrow { color: var(--grey); font-weight: 400; padding: 0 .12em; }
.facts { display: flex; flex-wrap: wrap; gap: 6px 26px; margin: 18px 0 0; padding: 0;
         list-style: none; color: var(--muted); font-size: 14.5px; }
.facts b { color: var(--ink); font-weight: 600; }
svg.chart { display: block; width: 100%; height: auto; overflow: visible; }
svg.chart * { stroke-linejoin: round; stroke-linecap: butt; }
svg.chart text { font-family: inherit; }
.key { display: inline-block; width: 18px; height: 0; vertical-align: middle; margin: 0 6px 2px 0;
       border-top: 2.5px solid; }
.key.dash { border-top-style: dashed; border-top-width: 2px; }
.dot { display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 7px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; }
th { font-weight: 550; color: var(--muted); text-align: left; font-size: 13px; }
th, td { padding: 8px 14px 8px 0; vertical-align: top; border-bottom: 1px solid var(--line); }
tr > :last-child { padding-right: 0; }
tr:last-child > td { border-bottom: 0; }
tr.total > td { font-weight: 620; border-top: 1px solid var(--grey); }
tr.total small { font-weight: 400; }
td.n, th.n { text-align: right; white-space: nowrap; }
.whole { white-space: nowrap; }
td small { color: var(--muted); display: block; }
td.iv { min-width: 190px; width: 34%; padding-right: 0; vertical-align: middle; }
.axis { position: relative; height: 18px; }
.axis i { position: absolute; top: 0; bottom: 0; }
.axis .zero { width: 1px; background: var(--grey); top: -8px; bottom: -8px; }
.axis .span { top: 6px; bottom: 6px; border-radius: 3px; background: var(--blue); opacity: .38;
              min-width: 2px; }
.axis .at { width: 9px; height: 9px; top: 4.5px; margin-left: -4.5px; border-radius: 50%;
            background: var(--blue); }
.axis span { position: absolute; transform: translateX(-50%); font-size: 12px;
             color: var(--muted); white-space: nowrap; }
.axis span:first-child { transform: none; }
.axis span:last-child { transform: translateX(-100%); }
table.heat { border-collapse: separate; border-spacing: 3px; table-layout: fixed; }
table.heat th, table.heat td { border: 0; padding: 7px 2px; text-align: center; }
table.heat th:first-child { width: 138px; text-align: left; overflow-wrap: anywhere;
                            padding-right: 6px; }
table.heat th { vertical-align: middle; font-size: 12.5px; line-height: 1.25; }
table.heat td { border-radius: 5px; font-size: 13px; line-height: 1.25; background: var(--code); }
table.heat td small { font-size: 10.5px; color: inherit; opacity: .72; }
.bar { display: flex; height: 26px; border-radius: 6px; overflow: hidden; gap: 2px;
       margin: 14px 0 14px; }
.bar i { min-width: 1px; }
.badge { font-size: 12.5px; font-weight: 600; padding: 2px 9px; border-radius: 20px;
         border: 1px solid currentColor; white-space: nowrap; }
.trial { margin-top: 20px; }
.trial > p:first-child { display: flex; flex-wrap: wrap; gap: 6px 12px; align-items: center;
                         margin-bottom: 14px; color: var(--muted); font-size: 14px;
                         max-width: none; }
pre, code { font-family: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, monospace;
            font-size: 13px; line-height: 1.5; }
pre { background: var(--code); border-radius: 7px; padding: 11px 13px; margin: 4px 0 12px;
      white-space: pre-wrap; overflow-wrap: anywhere; max-height: 340px; overflow-y: auto; }
pre:empty::before { content: "(empty)"; color: var(--muted); }
td code { overflow-wrap: anywhere; font-size: 12.5px; }
.cases { font-size: 13px; margin-bottom: 0; }
.cases th, .cases td { padding: 4px 10px 4px 0; }
.cases td { border-bottom: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--muted); font-size: 14px; padding: 4px 0; }
footer { margin-top: 72px; color: var(--muted); font-size: 13.5px; }
@media (max-width: 560px) {
  main { padding: 32px 16px 64px; } h1 { font-size: 26px; } .lead { font-size: 17.5px; }
  .card { padding: 16px; } .figure { font-size: 28px; } h2 { margin-top: 48px; }
  .more { display: none; } th, td { padding-right: 10px; }
  .grid:not(.small) svg.chart text { font-size: 11px !important; }
}
@media print { body { background: #fff; } .card { break-inside: avoid; } pre { max-height: none; } }
"""
