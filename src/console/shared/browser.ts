import { useEffect, useState, useSyncExternalStore } from 'react'

const listen = (onChange: () => void): (() => void) => {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

/** The page's path, which is behind the `#`: the server needs no route for it. */
export function usePath(): string {
  const hash = useSyncExternalStore(listen, () => location.hash)
  const [path = ''] = hash.replace(/^#/, '').split('?')
  return path.startsWith('/') ? path : '/'
}

/** Goes to a page, and resolves when it is shown, so that a refetch after it is that page's. */
export const go = (path: string): Promise<void> =>
  new Promise((resolve) => {
    if (location.hash === `#${path}`) return resolve()
    addEventListener('hashchange', () => resolve(), { once: true })
    location.hash = path
  })

const listenConnection = (onChange: () => void): (() => void) => {
  addEventListener('online', onChange)
  addEventListener('offline', onChange)
  return () => {
    removeEventListener('online', onChange)
    removeEventListener('offline', onChange)
  }
}

export const useOnline = (): boolean => useSyncExternalStore(listenConnection, () => navigator.onLine)

/** The time; the component renders again after each interval. */
export function useNow(everyMs = 30_000): number {
  const [nowAt, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return nowAt
}

export function download(name: string, text: string, type = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  URL.revokeObjectURL(url)
}

type Cells = readonly (string | number | null)[]

/** A line of CSV (RFC 4180). A text that a spreadsheet would compute as a formula gets an apostrophe before it. */
const toLine = (cells: Cells): string =>
  cells
    .map((cell) => {
      const text = cell === null ? '' : String(cell)
      const safe = typeof cell === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
      return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
    })
    .join(',')

export const toCsv = (lines: readonly Cells[]): string => lines.map((line) => `${toLine(line)}\r\n`).join('')

/** A drawing as a data URL, the only form that the page's content security policy allows. */
export const toPicture = (svg: string): string =>
  `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`
