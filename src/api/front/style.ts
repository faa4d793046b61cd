import { pageRules, variableRules } from '../../console/styles/tokens.ts'
import { accentOnDark } from '../../domains/brand/rules.ts'

const rules = `
html{scroll-behavior:smooth;scroll-padding-top:1rem}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
.wide{max-width:68rem;margin:0 auto;padding:0 var(--space-5)}
.skip{position:absolute;left:-999px;padding:.6rem 1rem;background:var(--card)}
.skip:focus{left:.75rem;top:.75rem;z-index:2}
header .wide{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem var(--space-5);padding-block:var(--space-4)}
.brand{display:flex;align-items:center;gap:.6rem;font-weight:var(--weight-strong);font-size:var(--text-l);color:inherit;
text-decoration:none;margin-right:auto}
.brand img{height:2rem;max-width:10rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem var(--space-4)}
nav a{color:var(--dim);text-decoration:none;padding:.35rem 0;transition:color var(--fast) var(--ease)}
nav a:hover{color:var(--text)}
.hero{padding:var(--space-8) 0 2.5rem}
.hero h1{margin:0;font-size:clamp(1.9rem,5vw,3.1rem);line-height:1.12;letter-spacing:-.025em;max-width:20ch}
.hero p{max-width:60ch;font-size:var(--text-l);color:var(--dim)}
.acts{display:flex;flex-wrap:wrap;gap:var(--space-3);margin-top:var(--space-6)}
section{padding:var(--space-7) 0}
h2{margin:0 0 .4rem;font-size:var(--text-2xl);letter-spacing:-.015em}
h3{margin:0 0 .3rem;font-size:var(--text-l)}
.card+h3{margin-top:var(--space-5)}
li ul,h3+ul{margin:.25rem 0 .5rem;padding-left:1.15rem}
section>p{color:var(--dim);margin:0 0 1.1rem;max-width:70ch}
.scroll{overflow-x:auto;padding:0}
table{width:100%;border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.65rem var(--space-4);text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}
thead th{font-size:var(--text-s);color:var(--dim);font-weight:600}
tbody th{font-weight:600}
td small,th small{display:block;font-weight:400;color:var(--dim);white-space:nowrap}
.low{color:var(--warn-text)!important}.none{color:var(--bad)!important}
.code{display:inline-block;min-width:2.1em;margin-right:.5rem;padding:.05rem .3rem;border-radius:var(--radius-s);
font-size:.75rem;text-align:center;color:var(--dim);border:1px solid var(--line)}
.flag{display:inline-block;width:1.5em;margin-right:.5rem;overflow:hidden;border-radius:3px;line-height:0;
vertical-align:-.1em;box-shadow:0 0 0 1px var(--line)}
@media (max-width:34rem){.scroll :is(table,thead,tbody,tr>*){display:block}.scroll tr{display:flex;flex-wrap:wrap;
padding:.4rem .7rem;border-bottom:1px solid var(--line)}.scroll tr>*{flex:1 1 0;min-width:0;border:0;
padding:.25rem .3rem}.scroll tbody th{flex-basis:100%}.scroll thead :is(th:first-child,small){display:none}}
.grid{display:grid;gap:var(--space-4);grid-template-columns:repeat(auto-fit,minmax(13.5rem,1fr));
margin:0;padding:0;list-style:none}
.grid svg{width:6rem;height:3.5rem;color:var(--accent)}
.price{font-size:var(--text-xl);font-weight:var(--weight-strong);letter-spacing:-.01em}
form{display:grid;gap:var(--space-4);grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));align-items:end}
label{display:grid;gap:.3rem;font-size:var(--text-s);color:var(--dim)}
select,input{width:100%;min-height:2.85rem;padding:.6rem .7rem;font:inherit;color:var(--text);background:var(--ground);
border:1px solid var(--dim);border-radius:var(--radius-m)}
.result{margin-top:var(--space-5);padding-top:var(--space-5);border-top:1px solid var(--line)}
.result p{margin:.25rem 0}
details{padding:.85rem 0;border-bottom:1px solid var(--line)}
summary{cursor:pointer;font-weight:600}
.tags{display:flex;flex-wrap:wrap;gap:.4rem;margin:var(--space-3) 0 0;padding:0;list-style:none}
.tags li{padding:.15rem .6rem;border:1px solid var(--line);border-radius:var(--radius-round);font-size:var(--text-s)}
footer{margin-top:var(--space-7);padding:1.75rem 0;border-top:1px solid var(--line)}
footer .wide{display:flex;flex-wrap:wrap;gap:.5rem var(--space-6)}
main.text{max-width:46rem}
main.text h2{font-size:var(--text-xl)}
main.text h1{font-size:clamp(1.5rem,6.5vw,2rem);overflow-wrap:anywhere}
`

/** One style for light and dark pages, from 320 to 1440 pixels. */
export const writeStyle = (accent: string): string => variableRules(accent, accentOnDark(accent)) + pageRules + rules
