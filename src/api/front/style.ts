import { accentOnDark } from '../../domains/brand/rules.ts'

const rules = `
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Ubuntu,sans-serif;
background:var(--ground);color:var(--text)}
.wide{max-width:68rem;margin:0 auto;padding:0 1.25rem}
a{color:var(--accent);text-underline-offset:.18em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-999px;padding:.6rem 1rem;background:var(--card)}
.skip:focus{left:.75rem;top:.75rem;z-index:2}
header .wide{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1.25rem;padding-block:1rem}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:650;font-size:1.15rem;color:inherit;
text-decoration:none;margin-right:auto}
.brand img{height:2rem;max-width:10rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1rem}
nav a{color:var(--dim);text-decoration:none;padding:.35rem 0}
nav a:hover{color:var(--text)}
.button{display:inline-block;padding:.6rem 1.1rem;border:1px solid var(--fill);border-radius:10px;
background:var(--fill);color:#fff;font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
.button:hover{filter:brightness(1.08)}
.plain{background:none;color:var(--accent);border-color:var(--line)}
.hero{padding:3rem 0 2.5rem}
.hero h1{margin:0;font-size:clamp(1.9rem,5vw,3.1rem);line-height:1.12;letter-spacing:-.025em;max-width:20ch}
.hero p{max-width:60ch;font-size:1.1rem;color:var(--dim)}
.acts{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.5rem}
section{padding:2rem 0}
h2{margin:0 0 .4rem;font-size:1.55rem;letter-spacing:-.015em}
h3{margin:0 0 .3rem;font-size:1.05rem}
.card+h3{margin-top:1.25rem}
li ul,h3+ul{margin:.25rem 0 .5rem;padding-left:1.15rem}
section>p,.dim{color:var(--dim)}
section>p{margin:0 0 1.1rem;max-width:70ch}
.card{padding:1.25rem;background:var(--card);border:1px solid var(--line);border-radius:14px}
.scroll{overflow-x:auto;padding:0}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.65rem 1rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}
thead th{font-size:.85rem;color:var(--dim);font-weight:600}
tbody th{font-weight:600}
td small,th small{display:block;font-weight:400;color:var(--dim);white-space:nowrap}
.low{color:var(--warn)!important}.none{color:var(--bad)!important}
.code{display:inline-block;min-width:2.1em;margin-right:.5rem;padding:.05rem .3rem;border-radius:5px;
font-size:.75rem;text-align:center;color:var(--dim);border:1px solid var(--line)}
.grid{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(13.5rem,1fr));
margin:0;padding:0;list-style:none}
.grid svg{width:6rem;height:3.5rem;color:var(--accent)}
.price{font-size:1.45rem;font-weight:650;letter-spacing:-.01em}
form{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));align-items:end}
label{display:grid;gap:.3rem;font-size:.9rem;color:var(--dim)}
select,input{width:100%;min-height:2.85rem;padding:.6rem .7rem;font:inherit;color:var(--text);background:var(--ground);
border:1px solid var(--dim);border-radius:9px}
.result{margin-top:1.25rem;padding-top:1.25rem;border-top:1px solid var(--line)}
.result p{margin:.25rem 0}
details{padding:.85rem 0;border-bottom:1px solid var(--line)}
summary{cursor:pointer;font-weight:600}
.tags{display:flex;flex-wrap:wrap;gap:.4rem;margin:.75rem 0 0;padding:0;list-style:none}
.tags li{padding:.15rem .6rem;border:1px solid var(--line);border-radius:99px;font-size:.9rem}
footer{margin-top:2rem;padding:1.75rem 0;border-top:1px solid var(--line)}
footer .wide{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem}
main.text{max-width:46rem}
`

/** One style for light and dark pages, from 320 to 1440 pixels. */
export const writeStyle = (accent: string): string => `
:root{color-scheme:light dark;--fill:${accent};--accent:${accent};--ground:#f7f8f8;--card:#fff;--text:#16201e;
--dim:#5b6570;--line:#e3e7e6;--warn:#8a5a00;--bad:#b02525}
@media (prefers-color-scheme:dark){:root{--accent:${accentOnDark(accent)};--ground:#111615;--card:#181f1d;
--text:#e4eae8;--dim:#a3aeab;--line:#2a3331;--warn:#e0a33e;--bad:#ff8787}}${rules}`
