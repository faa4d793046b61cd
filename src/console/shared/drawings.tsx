/**
 * Drawings of empty pages: `soft` is filled with a light accent, `line` is drawn in the colour of dimmed text and
 * `mark` in the accent. They are 160 by 104 and were made for this project.
 */
type Drawn = { readonly soft: string; readonly line: string; readonly mark: string }

const drawn = {
  server: {
    soft: 'M80 12a40 40 0 110 80 40 40 0 010-80z',
    line: 'M48 28h64v20H48zM48 56h64v20H48zM60 38h.1M60 66h.1M80 76v12M60 88h40',
    mark:
      'M74 38h28M74 66h16M118 42c8 6 8 14 0 20M126 34c14 10 14 26 0 36' +
      'M42 42c-8 6-8 14 0 20M34 34c-14 10-14 26 0 36',
  },
  globe: {
    soft: 'M80 14a38 38 0 110 76 38 38 0 010-76z',
    line: 'M80 22a30 30 0 110 60 30 30 0 010-60zM51 44h58M51 60h58M80 22c12 12 12 48 0 60M80 22c-12 12-12 48 0 60',
    mark: 'M24 30h18l12 8M136 30h-18l-12 8M24 76h18l12-8M136 76h-18l-12-8M20 30h.1M140 30h.1M20 76h.1M140 76h.1',
  },
  shield: {
    soft: 'M80 10a42 42 0 110 84 42 42 0 010-84z',
    line: 'M58 22h44a6 6 0 016 6v50a6 6 0 01-6 6H58a6 6 0 01-6-6V28a6 6 0 016-6zM74 78h12',
    mark: 'M80 32l17 7c0 15-5 25-17 31-12-6-17-16-17-31zM72 51l6 6 11-12',
  },
  receipt: {
    soft: 'M30 84c10-40 30-68 56-68s44 28 46 68z',
    line: 'M56 16h48v72l-8-6-8 6-8-6-8 6-8-6-8 6z',
    mark: 'M66 32h28M66 44h28M66 56h14M90 56h4',
  },
  wallet: {
    soft: 'M26 78a54 32 0 01108 0z',
    line: 'M44 38h68a6 6 0 016 6v36a6 6 0 01-6 6H44a6 6 0 01-6-6V40a8 8 0 016-8l54-10v16',
    mark: 'M118 54H98a8 8 0 000 16h20M98 62h.1M128 14v16M120 22h16M26 20v10M21 25h10',
  },
  search: {
    soft: 'M72 10a38 38 0 110 76 38 38 0 010-76z',
    line: 'M40 70V28h48M40 42h18M40 56h12',
    mark: 'M84 30a22 22 0 110 44 22 22 0 010-44zM100 68l22 22M76 46a9 9 0 0116 0',
  },
  chart: {
    soft: 'M38 84V60l22-12 22 8 24-26 20-6v60z',
    line: 'M32 14v72h100M50 86V68M72 86V62M94 86V50M116 86V36',
    mark: 'M40 58l22-14 22 8 24-26 16-4M118 16l8 5-5 8',
  },
  check: {
    soft: 'M80 12a40 40 0 110 80 40 40 0 010-80z',
    line: 'M50 28h60v52H50zM62 20v14M98 20v14M50 42h60',
    mark: 'M66 60l10 10 20-22',
  },
  book: {
    soft: 'M24 80c0-36 24-62 56-62s56 26 56 62z',
    line: 'M50 20h52a6 6 0 016 6v54a6 6 0 01-6 6H50zM50 20a6 6 0 00-6 6v54a6 6 0 006 6',
    mark: 'M64 36h.1M74 36h22M64 50h.1M74 50h22M64 64h.1M74 64h14',
  },
  code: {
    soft: 'M30 24h100a8 8 0 018 8v44a8 8 0 01-8 8H30a8 8 0 01-8-8V32a8 8 0 018-8z',
    line: 'M38 18h84a6 6 0 016 6v56a6 6 0 01-6 6H38a6 6 0 01-6-6V24a6 6 0 016-6zM32 32h96M40 25h.1M48 25h.1',
    mark: 'M62 46L50 58l12 12M98 46l12 12-12 12M86 42L74 74',
  },
  people: {
    soft: 'M20 86c0-24 26-40 60-40s60 16 60 40z',
    line:
      'M52 34a12 12 0 110 24 12 12 0 010-24zM28 86c0-14 10-22 24-22' +
      'M108 34a12 12 0 110 24 12 12 0 010-24zM132 86c0-14-10-22-24-22',
    mark: 'M80 22a15 15 0 110 30 15 15 0 010-30zM52 88c0-18 12-28 28-28s28 10 28 28z',
  },
  tag: {
    soft: 'M40 14h48l44 44-36 36-56-44z',
    line: 'M44 18h36l40 40-32 32-44-40z',
    mark: 'M58 32a4 4 0 110 8 4 4 0 010-8zM86 52l4 18M80 62h.1M96 60h.1',
  },
  nodes: {
    soft: 'M80 20a34 34 0 110 68 34 34 0 010-68z',
    line: 'M80 40v12M70 58L44 76M90 58l26 18M64 30L42 24M96 30l22-6',
    mark: 'M66 20h28v20H66zM30 74h20v16H30zM110 74h20v16h-20zM26 16h16v14H26zM118 16h16v14h-16zM72 58h16',
  },
  mail: {
    soft: 'M22 78c8-34 30-58 58-58s50 24 58 58z',
    line: 'M40 30h80a6 6 0 016 6v42a6 6 0 01-6 6H40a6 6 0 01-6-6V36a6 6 0 016-6z',
    mark: 'M36 34l44 30 44-30M36 80l28-26M124 80L96 54',
  },
  close: {
    soft: 'M80 12a40 40 0 110 80 40 40 0 010-80z',
    line: 'M40 24h80v56H40zM40 36h80',
    mark: 'M68 48l24 22M92 48L68 70',
  },
} as const satisfies Readonly<Record<string, Drawn>>

export type DrawingName = keyof typeof drawn

/** A drawing that repeats the text below it, hidden from screen readers. */
export function Drawing({ name }: { readonly name: DrawingName }) {
  const { soft, line, mark } = drawn[name]
  return (
    <svg className="drawing" aria-hidden="true" width="160" height="104" viewBox="0 0 160 104">
      <path className="drawing-soft" d={soft} />
      <path className="drawing-line" d={line} />
      <path className="drawing-mark" d={mark} />
    </svg>
  )
}
