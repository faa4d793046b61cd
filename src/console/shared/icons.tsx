import { brand } from './brand.ts'

const shapes = {
  home: 'M4 11l8-7 8 7M6 10v9h12v-9',
  server: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.5h.01M8 16.5h.01',
  globe: 'M12 3a9 9 0 100 18 9 9 0 000-18zM3.5 12h17M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18',
  shield: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM9 12l2 2 4-4',
  wallet: 'M4 7h15v12H4zM4 7l11-3v3M16 13h.01',
  receipt: 'M6 3h12v18l-3-2-3 2-3-2-3 2zM9 8h6M9 12h6',
  code: 'M9 7l-5 5 5 5M15 7l5 5-5 5',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  check: 'M5 12l5 5 9-10',
  bell: 'M6 17h12l-2-3v-4a4 4 0 00-8 0v4zM10 20h4',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  search: 'M10.5 4a6.5 6.5 0 100 13 6.5 6.5 0 000-13zM15.5 15.5L21 21',
  sun:
    'M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4' +
    'M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  moon: 'M20 14.5A8.5 8.5 0 019.5 4 8.5 8.5 0 1020 14.5z',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6L6 18',
  out: 'M14 4h5v16h-5M4 12h11M11 8l4 4-4 4',
  plus: 'M12 5v14M5 12h14',
  people:
    'M9 5a3.5 3.5 0 100 7 3.5 3.5 0 000-7zM3 20c0-4 3-6 6-6s6 2 6 6M16 5.5a3.5 3.5 0 010 6.5M18 14.5c2 .8 3 2.8 3 5.5',
  person: 'M12 4a4 4 0 100 8 4 4 0 000-8zM4 20.500c0-4.500 4-6.500 8-6.500s8 2 8 6.500',
  book: 'M5 4h10a3 3 0 013 3v13H8a3 3 0 01-3-3zM5 17a3 3 0 013-3h10',
  tag: 'M4 12V4h8l8 8-8 8zM8 8h.01',
  nodes:
    'M12 4v6M12 10L5 18M12 10l7 8M12 2.500a1.5 1.5 0 100 3 1.5 1.5 0 000-3z' +
    'M5 17a1.5 1.5 0 100 3 1.5 1.5 0 000-3zM19 17a1.5 1.5 0 100 3 1.5 1.5 0 000-3z',
  clock: 'M12 3a9 9 0 100 18 9 9 0 000-18zM12 7v5l3 2',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  chart: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
} as const

export type IconName = keyof typeof shapes

/** A drawing that repeats the text beside it, hidden from screen readers. */
export const Icon = ({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.7"
    strokeLinecap="round"
    strokeLinejoin="round"
  >
    <path d={shapes[name]} />
  </svg>
)

/** The shop's logo, or the program's mark. */
export const Mark = () =>
  brand.logo === undefined ? <ShippedMark /> : <img className="logo" src={brand.logo} alt="" />

const ShippedMark = () => (
  <svg aria-hidden="true" width={26} height={26} viewBox="0 0 32 32">
    <rect width="32" height="32" rx="8" className="mark-ground" />
    <path d="M8 25V12M8 21L24 8" className="mark-line" />
    <circle cx="8" cy="11" r="2.6" className="mark-dot" />
  </svg>
)
