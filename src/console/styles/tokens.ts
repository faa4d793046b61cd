/**
 * The look of every page of Turnpike, written once: the console takes these values as CSS variables, and so do the
 * page for visitors and the pages of links and payments, which the shop writes (`src/api`). Plain data without imports.
 */

/** Colours in light and dark. Text has a contrast of at least 4.5 on `ground` and on `card`. */
export const colours = {
  ground: ['#f7f8f8', '#111615'],
  card: ['#ffffff', '#181f1d'],
  /** Under text that was chosen, read only or computed. */
  sunken: ['#eef2f1', '#131918'],
  text: ['#16201e', '#e4eae8'],
  dim: ['#5b6570', '#a3aeab'],
  placeholder: ['#6b7580', '#8d9895'],
  line: ['#e1e6e4', '#2a3331'],
  good: ['#0f7563', '#4db39d'],
  warn: ['#b7791f', '#e0a33e'],
  /** Text on `ground`, where `warn` has too little contrast. */
  'warn-text': ['#8a5a00', '#e0a33e'],
  bad: ['#b02525', '#ff8787'],
  // The series of a chart differ in lightness too, for readers who do not see the difference of hue.
  'chart-first': ['#0b5a4c', '#3aa08a'],
  'chart-first-fill': ['#0b5a4ccc', '#3aa08acc'],
  'chart-second': ['#d4781f', '#f3c48a'],
  'chart-second-fill': ['#d4781fcc', '#f3c48acc'],
} as const satisfies Readonly<Record<string, readonly [light: string, dark: string]>>

/** Shadows in light and dark: of a card, and of a part that lies over the page. */
const shadows = {
  'shadow-card': ['0 1px 2px #16201e0d, 0 4px 16px #16201e08', '0 1px 2px #0006'],
  'shadow-over': ['0 8px 32px #16201e26', '0 8px 32px #000a'],
} as const

export const fonts = {
  text: 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Ubuntu,sans-serif',
  mono: 'ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",Menlo,Consolas,monospace',
} as const

/** Everything that is the same in light and dark. A step of the type scale is 1.2. */
export const sizes = {
  'text-xs': '0.8rem',
  'text-s': '0.875rem',
  'text-m': '1rem',
  'text-l': '1.1rem',
  'text-xl': '1.35rem',
  'text-2xl': '1.65rem',
  'text-3xl': '2rem',
  /** Numbers and headings. */
  'weight-strong': '650',
  'space-1': '0.25rem',
  'space-2': '0.5rem',
  'space-3': '0.75rem',
  'space-4': '1rem',
  'space-5': '1.25rem',
  'space-6': '1.5rem',
  'space-7': '2rem',
  'space-8': '3rem',
  'radius-s': '6px',
  'radius-m': '9px',
  'radius-l': '14px',
  'radius-round': '99px',
  /** How long a state of a control takes to change, and a part to appear. */
  fast: '120ms',
  slow: '240ms',
  ease: 'cubic-bezier(0.2,0,0,1)',
} as const

/** The variables of one colour scheme, by their names. */
export function schemeVariables(scheme: 'light' | 'dark'): Readonly<Record<`--${string}`, string>> {
  const at = scheme === 'light' ? 0 : 1
  return Object.fromEntries(Object.entries({ ...colours, ...shadows }).map(([name, pair]) => [`--${name}`, pair[at]]))
}

/** The variables that both schemes share, by their names. */
export const sharedVariables: Readonly<Record<`--${string}`, string>> = Object.fromEntries(
  Object.entries(sizes).map(([name, value]) => [`--${name}`, value]),
)

const toCss = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([name, value]) => `${name}:${value}`)
    .join(';')

/** For a page without the console's library: the variables as rules, dark if the reader's system is. */
export const variableRules = (accent: string, accentOnDark: string): string =>
  `:root{color-scheme:light dark;--fill:${accent};--accent:${accent};${toCss(sharedVariables)};` +
  `${toCss(schemeVariables('light'))}}\n` +
  `@media (prefers-color-scheme:dark){:root{--accent:${accentOnDark};${toCss(schemeVariables('dark'))}}}`

/** Elements that look the same on every page that the shop writes. */
export const pageRules = `
*{box-sizing:border-box}
body{margin:0;font:var(--text-m)/1.55 ${fonts.text};background:var(--ground);color:var(--text)}
a{color:var(--accent);text-underline-offset:.18em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:var(--radius-s)}
.card{padding:var(--space-5);background:var(--card);border:1px solid var(--line);border-radius:var(--radius-l);
box-shadow:var(--shadow-card)}
.button{display:inline-block;padding:.6rem 1.1rem;border:1px solid var(--fill);border-radius:var(--radius-m);
background:var(--fill);color:#fff;font:inherit;font-weight:600;text-decoration:none;cursor:pointer;
transition:filter var(--fast) var(--ease),border-color var(--fast) var(--ease)}
.button:hover{filter:brightness(1.08)}
.plain{background:none;color:var(--accent);border-color:var(--line)}
.plain:hover{border-color:var(--accent)}
.dim{color:var(--dim)}
.announced{margin:0;padding:.7rem var(--space-5);text-align:center;font-weight:600;
border-bottom:1px solid var(--line);background:var(--card);overflow-wrap:anywhere}
.announced small{font-weight:400;color:var(--dim)}
@media (prefers-reduced-motion:reduce){*{animation:none!important;transition:none!important}}
`
