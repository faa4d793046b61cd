import { useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'

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

/** The fields after the `?` of the page's path, and a function that replaces some of them in the address bar. */
export function useFields() {
  const hash = useSyncExternalStore(listen, () => location.hash)
  const [path = '', query = ''] = hash.split('?')
  const fields = useMemo(() => new URLSearchParams(query), [query])
  const set = (change: Readonly<Record<string, string>>): void => {
    const next = new URLSearchParams({ ...Object.fromEntries(fields), ...change })
    for (const [name, value] of Object.entries(change)) if (value === '') next.delete(name)
    history.replaceState(null, '', next.size === 0 ? path : `${path}?${next}`)
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
  return [fields, set] as const
}

/** Where a list was scrolled to when it was left. */
let left = { hash: '', top: 0 }

/** Scrolls a list to where it was when its page with the same filters was left. */
export function useKeptPosition(): void {
  const hash = useRef('')
  useLayoutEffect(() => {
    hash.current = location.hash
  })
  useLayoutEffect(() => {
    const { top } = left
    // After the page has scrolled to its beginning.
    if (left.hash === location.hash) requestAnimationFrame(() => scrollTo(0, top))
    // While the page is removed, the browser changes scrollY: the last scroll event counts.
    let seen = scrollY
    const onScroll = () => {
      seen = scrollY
    }
    addEventListener('scroll', onScroll, { passive: true })
    return () => {
      removeEventListener('scroll', onScroll)
      left = { hash: hash.current, top: seen }
    }
  }, [])
}

/** Whether an element's content is wider than the element, so that it scrolls sideways. */
export function useOverflow() {
  const frame = useRef<HTMLDivElement>(null)
  const [isWide, setWide] = useState(false)
  useLayoutEffect(() => {
    const at = frame.current
    if (at === null) return undefined
    const sized = new ResizeObserver(() => setWide(at.scrollWidth > at.clientWidth))
    for (const each of [at, ...at.children]) sized.observe(each)
    return () => sized.disconnect()
  }, [])
  return [frame, isWide] as const
}

/** Lists that are longer are rendered only where they are seen. */
const shortRows = 100
const rowsAround = 20

/**
 * Windowed rendering of rows of one height: the range of the rows to render, and the height of those before and after
 * it. The height of a row is measured.
 */
export function useWindowed(count: number) {
  const body = useRef<HTMLTableSectionElement>(null)
  const [view, setView] = useState({ from: 0, rows: shortRows, rowPx: 0 })
  useLayoutEffect(() => {
    if (count <= shortRows) return undefined
    const measure = () => {
      const rowPx = body.current?.querySelector('[aria-rowindex]')?.getBoundingClientRect().height ?? 0
      if (!body.current || rowPx === 0) return
      const above = Math.floor(-body.current.getBoundingClientRect().top / rowPx / rowsAround) - 1
      const rows = Math.ceil(innerHeight / rowPx) + 3 * rowsAround
      const from = Math.max(0, Math.min(above * rowsAround, count - rows))
      setView((before) =>
        before.from === from && before.rows === rows && before.rowPx === rowPx ? before : { from, rows, rowPx },
      )
    }
    measure()
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure)
    return () => {
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
    }
  }, [count])
  if (count <= shortRows) return { body, from: 0, to: count, beforePx: 0, afterPx: 0 }
  const { rows, rowPx } = view
  const from = Math.min(view.from, Math.max(0, count - rows))
  const to = Math.min(count, from + rows)
  return { body, from, to, beforePx: from * rowPx, afterPx: (count - to) * rowPx }
}

/** One of `options`, which the browser remembers; the first one until the user chooses. */
export function useRemembered<Chosen extends string>(name: string, options: readonly [Chosen, ...Chosen[]]) {
  const key = `turnpike.${name}`
  const [value, setValue] = useState(() => options.find((each) => each === localStorage.getItem(key)) ?? options[0])
  const choose = (next: Chosen): void => {
    localStorage.setItem(key, next)
    setValue(next)
  }
  return [value, choose] as const
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

/** An apostrophe stops a spreadsheet from computing a text. With `;` as its separator it also splits inside quotes. */
const asText = (text: string): string => text.replace(/(^|[;,\t\r\n])(\s*[=+\-@])/g, "$1'$2")

/** A line of CSV (RFC 4180), quoted for both separators that spreadsheets use: `,` and `;`. */
const toLine = (cells: Cells): string =>
  cells
    .map((cell) => {
      const safe = typeof cell === 'string' ? asText(cell) : String(cell ?? '')
      return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
    })
    .join(',')

export const toCsv = (lines: readonly Cells[]): string => lines.map((line) => `${toLine(line)}\r\n`).join('')

/** A drawing as a data URL, the only form that the page's content security policy allows. */
export const toPicture = (svg: string): string =>
  `data:image/svg+xml;base64,${btoa(String.fromCharCode(...new TextEncoder().encode(svg)))}`
