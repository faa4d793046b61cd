const svg = (content: string): string =>
  `<svg viewBox="0 0 96 56" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" ` +
  `stroke-linecap="round" stroke-linejoin="round">${content}</svg>`

const globe = '<circle cx="78" cy="28" r="13"/><path d="M65 28h26M78 15c-8 8-8 18 0 26M78 15c8 8 8 18 0 26"/>'
const frame = '<rect x="4" y="12" width="34" height="30" rx="4"/><path d="M4 20h34M9 16h1M14 16h1"/>'

/** One drawing for each way to connect, in the colour of its text. */
export const drawings = {
  program: svg(`${frame}<path d="M12 28h18M12 34h10M42 28h19" /><path d="m56 23 5 5-5 5"/>${globe}`),
  tls: svg(
    `${frame}<rect x="44" y="26" width="16" height="12" rx="2"/>` +
      `<path d="M47 26v-4a5 5 0 0 1 10 0v4M52 31v2"/>${globe}`,
  ),
  phone: svg(
    '<rect x="10" y="6" width="24" height="44" rx="5"/><path d="M20 45h4"/>' +
      '<path d="M15 14h5v5h-5zM24 14h5v5h-5zM15 23h5v5h-5zM25 24h1M28 27h1M24 28h1"/>' +
      '<path d="M40 28h20" /><path d="m55 23 5 5-5 5"/>' +
      '<path d="M78 12l13 5c0 12-4 20-13 26-9-6-13-14-13-26z"/><path d="m72 28 4 4 8-9"/>',
  ),
  api: svg(
    '<path d="m18 18-10 10 10 10M34 18l10 10-10 10M29 14l-6 28"/>' +
      '<path d="M50 28h9" /><path d="m55 23 5 5-5 5"/><rect x="65" y="12" width="26" height="14" rx="3"/>' +
      '<rect x="65" y="30" width="26" height="14" rx="3"/><path d="M70 19h1M70 37h1M77 19h8M77 37h8"/>',
  ),
} as const
