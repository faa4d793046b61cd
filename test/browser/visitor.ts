import { expect } from 'bun:test'
import type axe from 'axe-core'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  errors,
  type Locator,
  type Page,
} from 'playwright-core'
import { waitLimitMs } from '../harness/until.ts'

/** A browser profile with one page, and a record of the page's requests, console errors and exceptions. */
export type Visitor = {
  readonly page: Page
  readonly context: BrowserContext
  readonly requests: readonly string[]
  /** Ignores console messages of this pattern: the browser logs every refused request that a test provokes. */
  allow(pattern: RegExp): void
  /** Fails on console errors, exceptions, requests to other hosts and Content-Security-Policy violations. */
  expectQuiet(): Promise<void>
}

export async function openVisitor(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    locale: 'en-US',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  })
  context.setDefaultTimeout(waitLimitMs)
  const page = await context.newPage()
  const requests: string[] = []
  const complaints: string[] = []
  const allowed: RegExp[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  const isOurs = (each: string) => each.startsWith(`${url}/`) || each.startsWith('data:') || each.startsWith('blob:')
  return {
    page,
    context,
    requests,
    allow: (pattern) => void allowed.push(pattern),
    async expectQuiet() {
      expect(complaints.filter((each) => !allowed.some((pattern) => pattern.test(each)))).toEqual([])
      expect(requests.filter((each) => !isOurs(each))).toEqual([])
    },
  }
}

const firstWaitMs = 400

/**
 * Waits until an element is visible. Playwright polls every 50 ms when its timeout is 400 ms, but every 500 ms when its
 * timeout is waitLimitMs, and a page load takes about 400 ms. Timeouts double up to waitLimitMs, so that a slow machine
 * only polls less often.
 */
export async function shown(locator: Locator): Promise<void> {
  for (let waitMs = firstWaitMs; waitMs < waitLimitMs; waitMs *= 2) {
    try {
      return await locator.waitFor({ timeout: waitMs })
    } catch (error) {
      if (!(error instanceof errors.TimeoutError)) throw error
    }
  }
  await locator.waitFor({ timeout: waitLimitMs })
}

/** The accessibility checker, minified, because every checked page must parse it. */
const checker = Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir))

/** Runs axe without the rules that are never serious, and without those that the caller leaves out. */
const findSerious = (within: string, without: readonly string[]) => `(async () => {
  const isLeftOut = ({ id, impact }) =>
    impact === 'minor' || impact === 'moderate' || ${JSON.stringify(without)}.includes(id)
  const rules = Object.fromEntries(axe._audit.rules.filter(isLeftOut).map(({ id }) => [id, { enabled: false }]))
  const { violations } = await axe.run(${within}, { resultTypes: ['violations'], rules })
  return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
})()`

/** `selector` limits axe to some elements; `contrast: false` leaves out colours, which take three quarters of a run. */
type Scope = { readonly selector?: string; readonly contrast?: boolean }

/** Serious and critical accessibility violations that axe finds in a page. */
export async function findBarriers(page: Page, { selector, contrast = true }: Scope = {}): Promise<string[]> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(await checker.text())
  const script = findSerious(
    selector === undefined ? 'document' : JSON.stringify(selector),
    contrast ? [] : ['color-contrast'],
  )
  const found = await page.evaluate<axe.AxeResults['violations']>(script)
  return found.map(
    (each) => `${each.id}: ${each.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`,
  )
}

/** Whether a page is no wider than its window. A phone's window grows with the page, so the viewport size is used. */
export const fitsWidth = async (page: Page): Promise<boolean> =>
  Number(await page.evaluate('document.documentElement.scrollWidth')) <= (page.viewportSize()?.width ?? 0)
